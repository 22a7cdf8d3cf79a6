package memory

import (
	"maps"
	"runtime"
	"testing"
)

// TestShrink: what is left of a large map takes as little memory as if there had never been more.
func TestShrink(t *testing.T) {
	const all, left = 100_000, 10
	sizeOf := func(shrink func(map[int]int) map[int]int) uint64 {
		m := map[int]int{}
		for i := range all {
			m[i] = i
		}
		maps.DeleteFunc(m, func(i, _ int) bool { return i >= left })
		m = shrink(m)
		with := heap()
		runtime.KeepAlive(m)
		m = nil
		return with - min(with, heap())
	}
	if large, small := sizeOf(maps.Clone[map[int]int]), sizeOf(Shrink[int, int]); small > large/10 {
		t.Errorf("%d of %d entries take %d bytes after Shrink, and %d after maps.Clone", left, all, small, large)
	}
}

// heap returns how much memory is in use, in bytes.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
