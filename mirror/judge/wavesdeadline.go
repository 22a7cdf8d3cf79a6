package judge

import (
	"fmt"
	"slices"
	"time"
)

// noteTurn notes when the turn of a wave came that is being written: until then, those before it took the time.
func (r *Rollout) noteTurn(places []place) {
	for _, p := range places {
		if p.turn.After(r.turn) {
			r.turn = p.turn
		}
	}
	if r.turn.After(r.Since) && slices.ContainsFunc(places, func(p place) bool { return p.isWritten }) {
		r.Since = r.turn
	}
}

// noteProgress finds out when a Work last got the content of the source, or when the current wave was
// last seen to be through.
func (r *Rollout) noteProgress(f Facts, v Verdict) {
	for cluster, w := range f.Works {
		at := w.Written()
		if _, isUnshown := f.Unshown[cluster]; isUnshown && at.After(r.turn) { // it may have been woken since, which is no progress
			at = r.turn
		}
		if t := v.Targets[cluster]; t.Rendering != nil && !t.lacksContent(w) && at.After(r.Since) {
			r.Since = at
		}
	}
	if f.StoppedSince.After(r.Since) {
		r.Since = f.StoppedSince
	}
}

// overdueIn returns for how long the current wave may still take; 0 or less if it should have come
// through. The bake does not count.
func (r *Rollout) overdueIn(f Facts) time.Duration {
	if r.Since.IsZero() {
		return f.Source.Waves.Deadline
	}
	return r.Since.Add(f.Source.Waves.Deadline + f.Source.Waves.Bake).Sub(f.Now)
}

// recheckAfter returns when a bake ends, or a deadline, or Events of Karmada that are awaited may be seen again; 0 for never.
func (r *Rollout) recheckAfter(f Facts) time.Duration {
	if r.Current() == nil {
		return 0
	}
	next := Sooner(r.BakesIn, r.overdueIn(f))
	if r.AwaitsApplied {
		next = Sooner(next, awaitsPeriod)
	}
	return next
}

// isUnfinished reports whether a cluster with the content of the source may not have come through with it. One
// that was well until it went away has, and one that is no longer asked for.
func (f Facts) isUnfinished(w Wait) bool {
	work := f.Works[w.Cluster]
	return !w.Leaves && (!f.Clusters[w.Cluster].Away || work == nil || !work.IsWell() || f.IsUnreached(w.Cluster))
}

// unfinished returns the first wave in which a cluster with the content of the source may not have come through; nil if
// there is none.
func (r *Rollout) unfinished(f Facts) *Wave {
	for i := range r.Waves {
		if slices.ContainsFunc(r.Waves[i].Waits, f.isUnfinished) {
			return &r.Waves[i]
		}
	}
	return nil
}

// IsHeldUpBy reports whether a wave has not come through in time because of a cluster.
func (v Verdict) IsHeldUpBy(cluster string) bool {
	return slices.ContainsFunc(v.Notices, func(n Refusal) bool { return n.Reason == WaveHeld }) &&
		slices.ContainsFunc(v.Rollout.Current().Waits, func(w Wait) bool { return w.Cluster == cluster })
}

// waveHeld reports a wave that has not come through in time.
func waveHeld(f Facts, v Verdict) *Refusal {
	current := v.Rollout.Current()
	if current == nil || v.Rollout.overdueIn(f) > 0 {
		return nil
	}
	held := 0
	for _, target := range v.Targets {
		if target.Waits {
			held++
		}
	}
	if held == 0 {
		if current = v.Rollout.unfinished(f); current == nil || f.StoppedSince.IsZero() { // it is not known since when
			return nil
		}
	}
	return &Refusal{
		Reason: WaveHeld, Key: fmt.Sprint("wave ", current.Number), Advice: WaveHeld.Hint(),
		Message: fmt.Sprintf("%s; no progress for %s; it holds %d of %d clusters", current.tell(Wait.because), f.Source.Waves.Deadline, held, len(v.Targets)),
	}
}
