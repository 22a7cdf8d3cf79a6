//go:build !race

package memory

import (
	"runtime"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
)

// TestCostOfSettledWrites measures what a Memory keeps for a write that the watch has
// shown.
func TestCostOfSettledWrites(t *testing.T) {
	const n, most = 50_000, 64
	m := New(clocktesting.NewFakeClock(time.Unix(1, 0)))
	source := asking("1", "m1")
	w := observed(source, "m1", sample.Version("10"))
	v := wanting(source)
	before := heapInUse()
	for i := range n {
		v.ID = sample.Numbered(i)
		wrote(m, v, judge.Operation{Kind: judge.Create, Cluster: "m1"}, Receipt{"10", 1})
		settled := *w
		settled.Source = v.ID
		m.Shown(&settled)
	}
	m.Prune()
	used := int(heapInUse()-before) / n
	t.Logf("%d bytes", used)
	if used > most {
		t.Errorf("a Memory keeps %d bytes for each write, more than %d", used, most)
	}
	if len(m.of) > 0 {
		t.Errorf("%d writes have not come back", len(m.of))
	}
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
