package aggregate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// job sums up Jobs as Karmada does (ParsingJobStatus in pkg/util/helper/job.go, v1.18.2), within
// what an API server accepts (getStatusValidationOptions in pkg/registry/batch/job/strategy.go of
// Kubernetes, v1.35.4, on by default since v1.32). There, much of a Job's status cannot be taken
// back: its end, its start, and how many Pods have succeeded or failed. So a Work that is not
// settled counts as one that has reported nothing: what it reports may be about an earlier Job of
// that name.
func job(s *summary) error {
	isFinished, err := s.isFinished()
	if err != nil || isFinished {
		return err
	}
	reports, err := read[batchv1.JobStatus](s.members)
	if err != nil {
		return err
	}
	reports, runsUnsettled := onlySettled(s.members, reports)
	total, err := sum(s.members, reports, func(status *batchv1.JobStatus) []count {
		return []count{{"active", &status.Active}, {"succeeded", &status.Succeeded}, {"failed", &status.Failed}}
	})
	if err != nil {
		return err
	}
	if err := s.keepCounters(total); err != nil {
		return err
	}
	p := newProgress(s.members, reports)
	p.runsUnsettled = runsUnsettled
	return s.setProgress(total, p)
}

// onlySettled returns the reports of members whose Work is settled, and whether Pods are active in
// any other member.
func onlySettled(members []Member, reports []*batchv1.JobStatus) (settled []*batchv1.JobStatus, runsUnsettled bool) {
	settled = slices.Clone(reports)
	for i, m := range members {
		if !m.Settled {
			runsUnsettled = runsUnsettled || reports[i] != nil && reports[i].Active > 0
			settled[i] = nil
		}
	}
	return settled, runsUnsettled
}

func (s *summary) isFinished() (bool, error) {
	isComplete, err := s.isTrue(string(batchv1.JobComplete))
	if err != nil {
		return false, err
	}
	isFailed, err := s.isTrue(string(batchv1.JobFailed))
	return isComplete || isFailed, err
}

// keepCounters raises counters that an API server would not let fall, as when a member leaves.
func (s *summary) keepCounters(total *batchv1.JobStatus) error {
	for _, c := range []count{{"succeeded", &total.Succeeded}, {"failed", &total.Failed}} {
		current, _, err := unstructured.NestedInt64(s.status, c.name)
		if err != nil {
			return fmt.Errorf("cannot read the status of the source: %w", err)
		}
		if current > int64(*c.value) && current == int64(int32(current)) {
			*c.value = int32(current)
		}
	}
	return nil
}

// progress is how far a Job has come in its members.
type progress struct {
	// failedIn are the clusters in which it has failed.
	failedIn []string
	// allStarted and allComplete mean at least one member.
	allStarted, allComplete bool
	// runsUnsettled means that Pods are active in a member whose Work is not settled. They count
	// for nothing else, but the source must not end before they do: it may be deleted then.
	runsUnsettled bool
	// start is the earliest start; end is the latest completion. Both may be nil.
	start, end *metav1.Time
}

func newProgress(members []Member, reports []*batchv1.JobStatus) progress {
	hasWork := slices.ContainsFunc(members, func(m Member) bool { return !m.Idle })
	p := progress{allStarted: len(members) > 0, allComplete: len(members) > 0}
	for i, r := range reports {
		if hasWork && members[i].Idle {
			continue
		}
		if r == nil {
			r = &batchv1.JobStatus{}
		}
		switch endOf(r) {
		case batchv1.JobFailed:
			p.failedIn = append(p.failedIn, members[i].Cluster)
			p.allComplete = false
		case batchv1.JobComplete:
		default:
			p.allComplete = false
		}
		p.allStarted = p.allStarted && !r.StartTime.IsZero()
		p.allComplete = p.allComplete && !r.CompletionTime.IsZero()
		p.start = earlier(p.start, r.StartTime)
		p.end = later(p.end, r.CompletionTime)
	}
	return p
}

// IsIdle reports whether a manifest is that of a Job which works off a queue with no Pods, as where its share of them is 0. It does
// not end, and there is nothing to wait for.
func IsIdle(kind schema.GroupKind, manifest map[string]any) bool {
	parallelism, isGiven, _ := unstructured.NestedInt64(manifest, "spec", "parallelism")
	completions, _, _ := unstructured.NestedFieldNoCopy(manifest, "spec", "completions")
	return kind == jobKind && isGiven && parallelism == 0 && completions == nil
}

// endOf returns the condition by which a Job is finished; empty if it is not.
func endOf(status *batchv1.JobStatus) batchv1.JobConditionType {
	for _, c := range status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

// setProgress sets the status. A Job has failed when it has failed in one member and no Pod is
// active in the others: an API server refuses a finished Job with active Pods. Until then, the
// condition FailureTarget says so, which cannot be taken back either.
func (s *summary) setProgress(total *batchv1.JobStatus, p progress) error {
	target, err := s.find(string(batchv1.JobFailureTarget))
	if err != nil {
		return err
	}
	isFailing := len(p.failedIn) > 0 || target["status"] == string(corev1.ConditionTrue)
	fields := []string{"active", "succeeded", "failed", "completionTime"}
	if s.status["startTime"] == nil {
		fields = append(fields, "startTime")
		if p.allStarted || isFailing {
			total.StartTime = p.start
		}
	}
	hasStarted := s.status["startTime"] != nil || total.StartTime != nil
	mayFinish := total.Active == 0 && !p.runsUnsettled && hasStarted
	var ends []condition
	switch {
	case isFailing:
		ends = failure(p.failedIn, target, mayFinish)
	case mayFinish && p.allComplete:
		total.CompletionTime = p.end
		ends = completion()
	}
	if err := s.set(total, fields...); err != nil {
		return err
	}
	for _, c := range ends {
		if err := s.setCondition(c, "lastProbeTime"); err != nil {
			return err
		}
	}
	return nil
}

// failure has both conditions at the end: an API server refuses Failed alone, which is all that
// Karmada sets. The reason and the message are Karmada's.
func failure(clusters []string, target map[string]any, mayFinish bool) []condition {
	message := fmt.Sprintf("Job executed failed in member clusters %s", strings.Join(clusters, ","))
	if earlier, ok := target["message"].(string); ok && len(clusters) == 0 {
		message = earlier
	}
	ends := []condition{{string(batchv1.JobFailureTarget), corev1.ConditionTrue, "JobFailed", message}}
	if mayFinish {
		ends = append(ends, condition{string(batchv1.JobFailed), corev1.ConditionTrue, "JobFailed", message})
	}
	return ends
}

// completion has both conditions: an API server refuses Complete alone. Karmada leaves
// SuccessCriteriaMet out if a member does not have it, as those before Kubernetes v1.31. The
// reasons and messages are Karmada's.
func completion() []condition {
	return []condition{
		{string(batchv1.JobComplete), corev1.ConditionTrue, "Completed", "Job completed"},
		{string(batchv1.JobSuccessCriteriaMet), corev1.ConditionTrue, "CompletionsReached", "All member clusters have met success criteria"},
	}
}

func cronJob(s *summary) error {
	reports, err := read[batchv1.CronJobStatus](s.members)
	if err != nil {
		return err
	}
	total := &batchv1.CronJobStatus{}
	for _, r := range slices.DeleteFunc(reports, func(r *batchv1.CronJobStatus) bool { return r == nil }) {
		total.Active = append(total.Active, r.Active...)
		total.LastScheduleTime = later(total.LastScheduleTime, r.LastScheduleTime)
		total.LastSuccessfulTime = later(total.LastSuccessfulTime, r.LastSuccessfulTime)
	}
	return s.set(total, "active", "lastScheduleTime", "lastSuccessfulTime")
}

// earlier returns the earlier of two times, each of which may be missing. The zero time counts
// as missing: an API server stores it as null.
func earlier(a, b *metav1.Time) *metav1.Time {
	if b.IsZero() || a != nil && !b.Before(a) {
		return a
	}
	return b
}

// later returns the later of two times, as above.
func later(a, b *metav1.Time) *metav1.Time {
	if b.IsZero() || a != nil && !a.Before(b) {
		return a
	}
	return b
}

// EndedBefore reports whether a member reports, as JSON, that its Job had ended at that time, to the second.
func EndedBefore(status []byte, at time.Time) bool {
	var job batchv1.JobStatus
	if json.Unmarshal(status, &job) != nil {
		return false
	}
	return slices.ContainsFunc(job.Conditions, func(c batchv1.JobCondition) bool {
		isEnd := c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed
		return isEnd && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.After(at)
	})
}
