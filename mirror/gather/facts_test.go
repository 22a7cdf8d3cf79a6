package gather

import (
	"slices"
	"testing"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

func TestByCluster(t *testing.T) {
	for _, order := range [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}} {
		var works []*state.Work
		for _, cluster := range order {
			works = append(works, &state.Work{Cluster: cluster})
		}
		byCluster(works)
		if !slices.IsSortedFunc(works, func(a, b *state.Work) int { return int(a.Cluster[0]) - int(b.Cluster[0]) }) {
			t.Errorf("%v is not sorted", order)
		}
	}
}
