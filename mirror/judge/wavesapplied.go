package judge

import (
	"slices"
	"time"
)

// appliedPatience is for how long a wave waits for an Event of Karmada before it makes Karmada apply the Work
// again.
const appliedPatience = 30 * time.Second

// awaitsPeriod is how often a source is judged again that waits for such an Event: the watch of Events fails
// and recovers, and lasts only for as long as something waits.
const awaitsPeriod = 5 * time.Minute

// demandApplied lets no cluster come through, while content waits for its turn, before Karmada has been seen to
// apply its Work: what the Work says of its content may be true of the content before. It reports whether some
// cluster waits only for that.
func (v *Verdict) demandApplied(f Facts, waves [][]place) (isAwaited bool) {
	all := slices.Concat(waves...)
	if !slices.ContainsFunc(all, func(p place) bool { return p.isDue() && p.counts && !p.isAway }) {
		return false
	}
	for _, places := range waves {
		for i := range places {
			p, w := &places[i], f.Works[places[i].cluster]
			unshown, isUnshown := f.Unshown[p.cluster]
			if !isUnshown || p.isAltered || p.stage != through && p.stage != underWay || !w.IsWell() || f.Clusters[p.cluster].WriteUnderWay {
				continue
			}
			isAwaited = true
			p.stage, p.because, p.bakesIn, p.turn = underWay, "has not been seen to be applied", 0, f.Clusters[p.cluster].Recovery.At
			if f.UnshownBecause != "" {
				p.because += ": " + f.UnshownBecause
			}
			if t := v.Targets[p.cluster]; t.Wake.IsZero() && !p.isAway && f.UnshownBecause == "" {
				t.Wake, t.wakeIn = w.Written(), max(0, appliedPatience-unshown)
				v.Targets[p.cluster] = t
			}
		}
	}
	return isAwaited
}
