//go:build !race

package render

import (
	"runtime"
	"testing"
)

// TestCostOfWork bounds what one more cluster costs: exact numbers of allocations,
// and hardly more bytes than those of the Work and its metadata.
func TestCostOfWork(t *testing.T) {
	const most = 40
	template := mustTemplate(t, benchObject(), Options{})
	work := func() { template.Work("member1") }
	if got := testing.AllocsPerRun(1000, work); got > most {
		t.Errorf("%v allocations, more than %d", got, most)
	}
	size := uint64(len(template.Work("member1")))
	if got := bytesPerRun(1000, work); got > size+2816 {
		t.Errorf("%d bytes are allocated for a Work of %d", got, size)
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
