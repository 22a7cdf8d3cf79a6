//go:build !race

package render

import (
	"runtime"
	"testing"
)

// TestCostOfWork bounds what one more cluster costs, and what is assembled once for all
// of them: exact numbers of allocations, and hardly more bytes than the Work and its
// metadata have.
func TestCostOfWork(t *testing.T) {
	template := mustTemplate(t, benchObject(), Options{})
	works := template.Works()
	size := uint64(len(works.For("member1")))
	for name, c := range map[string]struct {
		run           func()
		allocs, bytes uint64
	}{
		"Works": {func() { template.Works() }, 40, size + 3072},
		"For":   {func() { works.For("member1") }, 4, size + 768},
	} {
		t.Run(name, func(t *testing.T) {
			if got := testing.AllocsPerRun(1000, c.run); got > float64(c.allocs) {
				t.Errorf("%v allocations, more than %d", got, c.allocs)
			}
			if got := bytesPerRun(1000, c.run); got > c.bytes {
				t.Errorf("%d bytes are allocated for a Work of %d", got, size)
			}
		})
	}
}

func bytesPerRun(runs int, f func()) uint64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / uint64(runs)
}
