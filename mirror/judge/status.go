package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/render/aggregate"
)

// Reports are what the status of a source is made from.
type Reports struct {
	// Source is what the source says of itself; nil if it no longer exists.
	Source *state.SourceStatus
	// Works are what its Works report, by cluster; nil for a Work that no longer exists.
	Works map[string]*state.Report
}

// Reporting lists the clusters whose members count for the status of the source, sorted: all
// where it is to be mirrored, and those where a Job may still run. A cluster that does not exist, or
// where the configuration forbids the source, would hold up the status for ever. There are none if
// the source has no targets, is refused, or if nothing is known about it: its status then stays as it is.
func (j Judgement) Reporting() []string {
	f := j.Facts
	if f.Unknown != "" || f.Source == nil || !f.Source.Asks || f.Source.Refusal != nil {
		return nil
	}
	var counted []string
	for _, cluster := range slices.Sorted(maps.Keys(j.Verdict.Targets)) {
		if target := j.Verdict.Targets[cluster]; target.Decision == Wanted || isPending(f, cluster, target) || mayRun(f, cluster) {
			counted = append(counted, cluster)
		}
	}
	return counted
}

// isPending reports whether a Work is to become wanted: the cluster counts, though nothing is written
// there now. A cluster that the source does not ask for may still have a Work that another owner took
// over. A Work whose name Karmada has taken is given up, and the next has the longer name.
func isPending(f Facts, cluster string, target Target) bool {
	facts := f.Clusters[cluster]
	isReplaced := target.Decision == Released && f.Source != nil && f.Source.Asks && f.Source.Refusal == nil
	return (target.Decision == Unknown || isReplaced) && facts.State == ClusterJoined && !facts.Forbidden && facts.Owner == render.Identity{} &&
		f.Source.Terms.Matches(cluster, facts.Labels)
}

// mayRun reports whether a Job may still run on a cluster, be it only for the moment that it counts as unwanted there. That a
// Job has ended is for good, and what has ended is deleted everywhere (ttlSecondsAfterFinished). An earlier Job that has ended
// there does not run, nor does that of a Work which another owner took over.
func mayRun(f Facts, cluster string) bool {
	if f.ID.GroupKind() != state.JobKind || f.Source == nil || !isOf(f, cluster) {
		return false
	}
	w := f.Works[cluster]
	return !w.Terminating && w.Foreign == "" && (w.IsMadeFrom(f.Source.UID) || !w.IsFinished())
}

// Status returns the status that the source should have by what its Works report; nil if it should
// stay as it is.
func (j Judgement) Status(r Reports, now time.Time) (map[string]any, error) {
	clusters := j.Reporting()
	if len(clusters) == 0 || r.Source == nil || j.Facts.Source.Template == nil {
		return nil, nil
	}
	if r.Source.UID != j.Facts.Source.UID || r.Source.Version != j.Facts.Source.ResourceVersion {
		return nil, nil // the judgement is about another version; that of this one is an event
	}
	source, err := j.Facts.Source.Template.Object()
	if err != nil {
		return nil, err
	}
	source.SetGeneration(r.Source.Generation)
	delete(source.Object, "status")
	if r.Source.Status != nil {
		var status map[string]any
		if err := kjson.Unmarshal(r.Source.Status, &status); err != nil {
			return nil, fmt.Errorf("cannot decode the status of source %q: %w", j.Facts.ID, err)
		}
		source.Object["status"] = status
	}
	var members []aggregate.Member
	for _, cluster := range clusters {
		members = append(members, j.member(cluster, r.Works[cluster], r.Source, now))
	}
	return aggregate.Status(source, members, now)
}

// member returns what a cluster contributes to the status: nothing if its Work belongs to another
// owner, or reports about an earlier object of that name.
func (j Judgement) member(cluster string, report *state.Report, source *state.SourceStatus, now time.Time) aggregate.Member {
	m := aggregate.Member{Cluster: cluster}
	w := j.Facts.Works[cluster]
	if report == nil || w == nil || w.Foreign != "" || !w.IsMadeFrom(source.UID) {
		return m
	}
	if !j.isAbout(source, w, report, now) {
		return m
	}
	m.Status, m.Generation, m.Settled = report.Status, report.Generation, j.isSettled(cluster)
	m.Later, m.Lacking = j.isLater(w, report, now), w.State == state.WorkFailed && failsIn(report, now) == 0 || j.Facts.IsUnreached(cluster)
	m.Unhealthy, m.ChoosesReplicas = report.Unhealthy, w.Retains()
	m.Idle = report.Idle && (m.Settled || report.Status == nil && j.isWritten(cluster)) // otherwise it may have Pods, or get some
	return m
}

// failsIn returns after what time a failure counts. What the member has shown of this content stays meanwhile: since 1.19, Karmada also
// reports a repair there that something refuses for a while. New content that is refused counts at once:
//
//	applied before     same content  followed  counts
//	yes, and reported  yes           yes       after trustAfter
//	yes                no            –         at once
//	not seen           –             no        at once
func failsIn(report *state.Report, now time.Time) time.Duration {
	if report.FailedSince.IsZero() {
		return 0
	}
	return max(0, trustAfter-now.Sub(report.FailedSince))
}

// trustAfter is how long after a Work was adopted what it reports is believed although Karmada has not
// reported anything else. Nothing else would ever show an object that was recreated as it was.
const trustAfter = 5 * time.Minute

// isAbout reports whether a Work reports about this source. One that was created for an earlier object of
// that name was updated in place when the source was recreated, and what it reports stays until Karmada has
// looked at it. The time of the status does not tell: it is also that of the conditions. A Job that had ended
// before does not run again, and its end would be the source's for good.
func (j Judgement) isAbout(source *state.SourceStatus, w *state.Work, report *state.Report, now time.Time) bool {
	if report.Suspended && !report.Applied && report.Status != nil { // what the member has is from before the Work
		return false
	}
	isNew, began := !report.Created.Before(source.Created), source.Created
	if isNew { // the member may have had a Job that had ended, and a clock that is behind
		began = began.Add(-maxSkew)
	}
	hasRun := isNew && report.Ran
	if j.Facts.ID.GroupKind() == state.JobKind && !hasRun && aggregate.EndedBefore(report.Status, began) {
		return false
	}
	return isNew || report.Renewed || j.canBeTrusted(w) && j.stood(w, report, now) >= trustAfter
}

// isLater reports whether what a Work reports is from after its content was written.
func (j Judgement) isLater(w *state.Work, report *state.Report, now time.Time) bool {
	return j.canBeTrusted(w) && j.stood(w, report, now) >= CountsAfter(report)
}

// CountsAfter returns for how long a Work must have stood for its report to be about its content. Times have whole seconds. Not
// every content changes what a member reports, so an earlier report counts, too, when it has stood for long.
func CountsAfter(report *state.Report) time.Duration {
	switch report.Reported.Compare(report.Written) {
	case 1:
		return 0
	case 0:
		return DefaultLeastBake
	}
	return trustAfter
}

// maxSkew is how far the clock of a member may be behind that of the API server, unless the Job has been seen to run.
const maxSkew = time.Minute

// stood returns for how long a Work has not been written while its cluster was there, by whichever clock shows longer: that of
// the API server may be ahead.
func (j Judgement) stood(w *state.Work, report *state.Report, now time.Time) time.Duration {
	by := now.Sub(report.Written)
	if !report.Seen.IsZero() {
		by = max(by, now.Sub(report.Seen))
	}
	back := j.Facts.Clusters[w.Cluster].Recovery
	return min(by, max(0, now.Sub(cmp.Or(back.Seen, back.At)))) // Karmada's clock may be ahead
}

// canBeTrusted reports whether what a Work reports is about its content some time after it was written: it is
// applied, and its member is there.
func (j Judgement) canBeTrusted(w *state.Work) bool {
	return w.State == state.WorkApplied && !j.Facts.Clusters[w.Cluster].Away
}

// Believed returns what is believed only because it has been reported for long: once that is so, no write of the
// Work, no suspension and no outage makes it doubtful again.
func (j Judgement) Believed(r Reports, now time.Time) (believed []*state.Report) {
	for cluster, report := range r.Works {
		w := j.Facts.Works[cluster]
		if report != nil && w != nil && report.Created.Before(r.Source.Created) && !report.Renewed && w.IsMadeFrom(r.Source.UID) && j.isAbout(r.Source, w, report, now) {
			believed = append(believed, report)
		}
	}
	return believed
}

// maxRecalled bounds the reports of which each combination is tried.
const maxRecalled = 4

// Recall returns the reports with those believed that an earlier leader believed, and which those are. Only that process
// knew, but the status of the source tells: it counts them.
func (j Judgement) Recall(r Reports, now time.Time) (_ Reports, recalled []*state.Report) {
	if r.Source == nil || r.Source.Status == nil {
		return r, nil
	}
	var doubted []string
	for _, cluster := range slices.Sorted(maps.Keys(r.Works)) {
		w, report := j.Facts.Works[cluster], r.Works[cluster]
		if report != nil && w != nil && w.IsMadeFrom(r.Source.UID) && !j.isAbout(r.Source, w, report, now) {
			doubted = append(doubted, cluster)
		}
	}
	var current map[string]any
	if len(doubted) == 0 || kjson.Unmarshal(r.Source.Status, &current) != nil {
		return r, nil
	}
	isCurrent := func(r Reports) bool {
		status, err := j.Status(r, now)
		return err == nil && equality.Semantic.DeepEqual(status, current)
	}
	if isCurrent(r) {
		return r, nil
	}
	all := 1<<min(len(doubted), maxRecalled) - 1
	for some := all; some > 0; some-- {
		with := Reports{Source: r.Source, Works: maps.Clone(r.Works)}
		recalled = nil
		for i, cluster := range doubted {
			if some == all || i < maxRecalled && some>>i&1 == 1 {
				believed := *r.Works[cluster]
				believed.Renewed = true
				with.Works[cluster], recalled = &believed, append(recalled, r.Works[cluster])
			}
		}
		if isCurrent(with) {
			return with, recalled
		}
	}
	return r, nil
}

// TrustIn returns after what time the next Work will be believed that is not yet; 0 if there is none. Nothing
// happens then that would be an event.
func (j Judgement) TrustIn(r Reports, now time.Time) (in time.Duration) {
	for cluster, report := range r.Works {
		w := j.Facts.Works[cluster]
		if report == nil || w == nil {
			continue
		}
		if !j.canBeTrusted(w) {
			in = Sooner(in, failsIn(report, now))
			continue
		}
		stood, isCopied := j.stood(w, report, now), aggregate.IsCopied(j.Facts.ID.GroupKind())
		switch {
		case !j.isAbout(r.Source, w, report, now):
			in = Sooner(in, trustAfter-stood)
		case isCopied:
			in = Sooner(in, CountsAfter(report)-stood)
		}
	}
	return in
}

// isSettled reports whether the Work on a cluster is as it should be, and applied.
func (j Judgement) isSettled(cluster string) bool {
	target, w := j.Verdict.Targets[cluster], j.Facts.Works[cluster]
	// A suspended Work may have content that has not been applied: the generation that its member
	// reports tells.
	isApplied := w != nil && (w.State == state.WorkApplied || w.State == state.WorkSuspended)
	isLeft := target.Decision != Wanted && mayRun(j.Facts, cluster) && !isPending(j.Facts, cluster, target) // it stays as it is, or goes
	return (j.isWritten(cluster) || isLeft) && isApplied
}

// isWritten reports whether the Work on a cluster is as wanted, or what admission makes of that.
func (j Judgement) isWritten(cluster string) bool {
	target := j.Verdict.Targets[cluster]
	kind := target.Operation.Kind
	return target.Decision == Wanted && (kind == "" || kind == Wake || kind == Update && j.Facts.Altered[cluster].Digest == target.Digest())
}

// IsUpToDate reports whether what the Work on a cluster reports is about the content that it should
// have. Where the report does not tell, as for a ConfigMap, it is enough that Karmada says that the
// Work is applied, which may be true of earlier content.
func (j Judgement) IsUpToDate(cluster string, report *state.Report) bool {
	if report == nil {
		return false
	}
	return aggregate.Member{Cluster: cluster, Status: report.Status, Generation: report.Generation, Unhealthy: report.Unhealthy, Settled: j.isSettled(cluster)}.IsUpToDate()
}
