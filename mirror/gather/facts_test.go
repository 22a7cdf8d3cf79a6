package gather

import (
	"slices"
	"testing"

	"go.uber.org/zap"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
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

// TestByOneConfiguration: facts are never of two configurations.
func TestByOneConfiguration(t *testing.T) {
	c := NewCaches(Options{Logger: zap.NewNop()})
	times := 0
	f, err := c.byOneConfiguration(func() (judge.Facts, error) {
		if times++; times < 3 {
			c.Configure(&config.Configuration{})
		}
		return judge.Facts{Live: times == 3}, nil
	})
	if err != nil || times != 3 || !f.Live {
		t.Errorf("it gathered %d times, and returned %v, %v", times, f, err)
	}
}
