package judge

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// stage is how far a cluster has come.
type stage int

const (
	// Without a stage, a cluster counts for nothing: what it has neither opens nor closes a wave.
	_ stage = iota
	// stuck counts, and nothing can be written there now.
	stuck
	// pending lacks the content, and can be given it.
	pending
	// underWay has the content, and has not come through with it.
	underWay
	// through has come through.
	through
)

// place is where a cluster stands.
type place struct {
	cluster string
	stage   stage
	// counts: the wave waits for it, which is not so if it is suspended. What is written to a
	// suspended Work would take effect later, whatever the waves have found out by then, so it is
	// passed over, like one that isAway, which is not ready.
	counts, isAway bool
	// isWritten: it is being written, or just was. leaves is that of its Wait.
	isWritten, leaves bool
	// mayHave: it may have the content without having come through with it, and gets nothing now. had: it is pending, and had
	// the content until another user changed its Work. hasOlder: it is pending, and has older content. isBusy: it is to be
	// written, and has not come through with what it has, if anything. hasIt: it is pending, and has the content, but is suspended.
	// isEmpty: it is pending, and its Work was deleted to be replaced.
	mayHave, had, hasOlder, isBusy, hasIt, isEmpty bool
	// isAltered: it has what admission made of the content, and this process has not seen admission do so on the same write.
	// Admission may no longer do so, and then that content is new to the member: it is written again, in its turn.
	isAltered bool
	// wentLate: it is away, and went long after its Work was written.
	wentLate bool
	// turn is when it came through or, before that, came back.
	turn              time.Time
	because, reported string
	bakesIn           time.Duration
}

// isTaken reports whether it takes one of the places that a limit gives.
func (p place) isTaken() bool {
	return p.stage == underWay || p.mayHave || p.had || p.hasIt && p.isAway
}

// isDue reports whether it is to be written.
func (p place) isDue() bool { return p.stage == pending || p.isAltered }

// placesOf returns where the clusters stand, by wave, in the order in which they are given room: first those that have the
// content already, those that have nothing any more, and those that are busy with what they have.
func placesOf(f Facts, r *renderings, v Verdict) [][]place {
	waves := make([][]place, f.Source.Waves.Len())
	for _, cluster := range slices.Sorted(maps.Keys(v.Targets)) {
		p := placeOf(f, r, cluster, v.Targets[cluster])
		i := f.Source.Waves.Of(cluster, f.Clusters[cluster].Labels)
		waves[i] = append(waves[i], p)
	}
	for _, cluster := range slices.Sorted(maps.Keys(f.Clusters)) {
		if had := f.wasAsked(cluster); had != nil {
			i := f.Source.Waves.Of(cluster, had.Labels)
			waves[i] = append(waves[i], place{
				cluster: cluster, stage: stuck, counts: true, isAway: f.Clusters[cluster].Away, because: "was asked for until its labels changed a moment ago", bakesIn: had.In,
			})
		}
	}
	for _, places := range waves {
		slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.rank(), b.rank()) })
	}
	return waves
}

// rank orders the clusters of a wave.
func (p place) rank() int {
	switch {
	case p.hasIt:
		return 0
	case p.isEmpty:
		return 1
	case p.isBusy:
		return 2
	}
	return 3
}

// wasAsked returns the labels by which a source asked for a cluster until a moment ago, if it has no Work there; nil otherwise.
func (f Facts) wasAsked(cluster string) *HadLabels {
	facts, w := f.Clusters[cluster], f.Works[cluster]
	if w != nil && w.IsOursFor(f.ID) || f.Source.Terms.Matches(cluster, facts.Labels) {
		return nil
	}
	i := slices.IndexFunc(facts.Had, func(h HadLabels) bool { return f.Source.Terms.Matches(cluster, h.Labels) })
	if i < 0 {
		return nil
	}
	return &facts.Had[i]
}

func placeOf(f Facts, r *renderings, cluster string, target Target) place {
	facts, w := f.Clusters[cluster], f.Works[cluster]
	p := place{cluster: cluster, isAway: facts.Away && !f.Changed[cluster], counts: true, isWritten: facts.WriteUnderWay, turn: facts.Recovery.At}
	switch {
	case facts.WriteUnderWay:
		p.stage, p.because = underWay, "has just been written"
	case w != nil && w.IsOursFor(f.ID) && !w.Terminating && (target.Unproven || target.neededBy || target.Decision == Unwanted): // by a mistake, perhaps
		p.stage, p.because = stuck, "is no longer asked for, and its Work is still there"
		isOlder := r.isOlder(w)
		p.leaves, p.mayHave = f.lets(w, isOlder), !isOlder
	case w != nil && w.IsOursFor(f.ID) && !w.Terminating && facts.State != ClusterJoined: // for a moment, perhaps
		p.stage, p.because = stuck, "does not exist, or is being removed, and its Work is still there"
		p.mayHave = !r.isOlder(w)
	case target.Decision != Wanted && (!isPending(f, cluster, target) || r.optionsOn(cluster).Suspend), w != nil && w.Terminating && target.isSuspended():
		return place{cluster: cluster}
	case target.Decision != Wanted:
		p.stage, p.because = stuck, "cannot be written: "+target.Because
		p.mayHave = w != nil && (w.Source == f.ID || target.Rendering != nil && target.isIn(w)) && !r.isOlder(w) && !f.lets(w, false)
	case w != nil && w.Terminating:
		p.stage, p.because, p.mayHave = stuck, "is still being deleted", !target.lacksContent(w) || f.Replaced[cluster] || !p.isAway && f.isBarred(w, target) && f.keepsEarlier(target)
	case target.lacksContent(w) && !f.sawAltered(cluster, target), w.State == state.WorkSuspended && !target.isSuspended():
		p.stage, p.because, p.counts = pending, "has not been written", !target.isSuspended()
		p.had, p.hasIt = p.counts && f.hadContent(cluster, target), !target.lacksContent(w)
		p.hasOlder, p.isEmpty = w != nil && !p.hasIt, w == nil && f.Replaced[cluster]
		if p.mayHave = !p.had && f.Changed[cluster]; p.mayHave {
			p.because = hasChanged
		}
		p.isBusy = p.counts && !p.isAway && !p.had && !p.mayHave && (p.isEmpty || p.hasOlder && w.State != state.WorkSuspended && !f.isThrough(w))
	case target.isSuspended():
		return place{cluster: cluster}
	default:
		p.stage, p.because, p.bakesIn = f.judgeWork(w)
		p.reported = w.Trouble()
		if p.isAltered = f.Altered != nil && !target.isIn(w) && !f.sawAltered(cluster, target); p.isAltered {
			p.isBusy = p.stage != through
			p.stage, p.because = underWay, "has not been written since admission altered it, which this process has not seen"
		}
		if p.stage == through {
			p.turn = f.Now.Add(p.bakesIn)
		}
	}
	p.wentLate = p.isAway && w != nil && facts.AwaySince.After(w.Written().Add(f.Source.Waves.Bake+f.Source.Waves.Deadline))
	return p
}

// keepsEarlier reports whether some cluster has a Work of an earlier object: then a Work that goes is being replaced, as far as a
// process knows that has not sent the deletion. If the earlier object was deleted for good, all of them go.
func (f Facts) keepsEarlier(t Target) bool {
	for _, w := range f.Works {
		if w.IsOursFor(f.ID) && !w.Terminating && !w.IsMadeFrom(t.UID()) {
			return true
		}
	}
	return false
}

// isOlder reports whether a Work surely has other content than its source now. That is not known of one whose content differs
// by cluster: by which labels it was made, for example.
func (r *renderings) isOlder(w *state.Work) bool {
	s := r.f.Source
	if s.Differences.Expand || r.f.Scale != nil || len(r.f.Policies) > 0 || w.Foreign != "" {
		return false
	}
	rendering, err := r.of(w.Cluster)
	t := Target{Rendering: rendering}
	return err == nil && rendering != nil && t.lacksContent(w) && !t.isOf(w)
}

// lets reports whether a Work that goes may leave its cluster's place to another: it has older content, or has come through
// with what it has. One that is away cannot be seen to; it was well for long enough before.
func (f Facts) lets(w *state.Work, isOlder bool) bool {
	s, _, _ := f.judgeWork(w)
	facts := f.Clusters[w.Cluster]
	_, isUnshown := f.Unshown[w.Cluster]
	switch {
	case f.Changed[w.Cluster]:
		return false
	case isOlder:
		return w.IsWell() || w.Held != nil || facts.Away
	case facts.Away:
		return w.IsWell() && !isUnshown && (w.Held != nil || facts.AwaySince.After(w.Written().Add(f.bakeOf(w))))
	}
	return s == through && !isUnshown
}

// hasChanged is why a cluster waits that was read.
const hasChanged = "has changed, and the caches do not show it"

// judgeWork returns how far a Work has come that has the content. A bake that is over ends in less than 0.
func (f Facts) judgeWork(w *state.Work) (s stage, because string, bakesIn time.Duration) {
	bake := f.bakeOf(w)
	steady, isSteady := f.HealthyFor[w.Cluster]
	switch {
	case f.Changed[w.Cluster]:
		return underWay, hasChanged, 0
	case w.State != state.WorkApplied:
		return underWay, "has not been applied", 0
	case !w.IsWell():
		return underWay, "is not healthy, or has not rolled it out", 0
	case !isSteady || steady < bake:
		return underWay, "bakes: it has not been healthy for " + bake.String() + " yet", bake - steady
	}
	return through, "", bake - steady
}

// isThrough reports whether a Work has come through with what it has.
func (f Facts) isThrough(w *state.Work) bool {
	s, _, _ := f.judgeWork(w)
	return s == through
}

// bakeOf returns for how long a Work must be well.
func (f Facts) bakeOf(w *state.Work) time.Duration {
	if !w.HasRolledOut() || f.Ambiguous[w.Cluster] {
		return max(f.Source.Waves.Bake, f.LeastBake)
	}
	return f.Source.Waves.Bake
}

// isSuspended reports whether Karmada does not apply the Work.
func (t Target) isSuspended() bool { return t.Rendering != nil && t.options.Suspend }

// lacksContent reports whether a Work is still to get the content of its source, apart from what takes
// effect at once.
func (t Target) lacksContent(w *state.Work) bool {
	return w == nil || w.Foreign != "" || !w.IsMadeFrom(t.UID()) || !t.isIn(w) && !(w.IsAltered() && w.Notes().Written == t.notes.Written)
}

// maxCacheAge is how long a watch may lag unnoticed: client-go asks for one of 5 to 10 minutes, and then for the next.
// maxReads is how many Works are read before content is written that rests on them.
const (
	maxCacheAge = 10 * time.Minute
	maxReads    = 100
)

// restsOn returns the clusters that have come through, or leave their place to others, those that take a place in a wave with a
// limit if the cache does not show that they were written, and those that are passed over because they are away. Of very many,
// it returns those that a cache that lags shows wrongly for certain: those that have come through since it may have been right.
func restsOn(f Facts, waves [][]place) (all []string) {
	var recent, away []string
	for i, places := range waves {
		isLimited := f.Source.Waves.At(i).AtOnce(len(places)) < len(places)
		for _, p := range places {
			if p.leaves || p.stage == through && f.Now.Sub(p.turn) < maxCacheAge {
				recent = append(recent, p.cluster)
			}
			switch {
			case p.leaves || p.stage == through || isLimited && p.isDue() && p.counts && !p.isWritten && !p.isAway:
				all = append(all, p.cluster)
			case p.isAway && p.counts:
				away = append(away, p.cluster)
			}
		}
	}
	switch {
	case len(all) > maxReads:
		return recent
	case len(all)+len(away) > maxReads:
		return all
	}
	return append(all, away...)
}
