package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
)

// idleIn says what in the annotations of a source has no effect now, and may be a mistake.
func idleIn(f judge.Facts) (idle []string) {
	s, exist := f.Source, maps.Clone(f.Clusters)
	maps.DeleteFunc(exist, func(_ string, facts judge.ClusterFacts) bool { return facts.State == judge.ClusterMissing })
	for _, glob := range s.Terms.GlobsWithout(slices.Collect(maps.Keys(exist))) {
		idle = append(idle, glob+" chooses no cluster now")
	}
	if s.Waves.IsEmpty() {
		for _, key := range s.Wishes.WaveTimes() {
			idle = append(idle, key+" has no effect without waves")
		}
		return idle
	}
	of := make([]int, s.Waves.Len())
	for cluster, facts := range exist {
		if s.Terms.Matches(cluster, facts.Labels) {
			of[s.Waves.Of(cluster, facts.Labels)]++
		}
	}
	for i, clusters := range of[:len(of)-1] {
		wave := s.Waves.At(i)
		switch {
		case clusters == 0:
			idle = append(idle, fmt.Sprintf("wave %d (%s) has none of its clusters now", i+1, wave.Text))
		case clusters > 1 && wave.AtOnce(clusters) >= clusters && !slices.ContainsFunc(slices.Delete(slices.Clone(of), i, i+1), func(n int) bool { return n > 0 }):
			idle = append(idle, fmt.Sprintf("wave %d (%s) has all its clusters: a change reaches them at once; a semicolon begins another wave", i+1, wave.Text))
		}
	}
	return idle
}
