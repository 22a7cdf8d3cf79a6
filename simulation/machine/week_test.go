package machine

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"
)

const (
	// worldsPerDay is how often what happens is drawn for each day of TestWeek; always the same, so that days can be compared.
	worldsPerDay = 3
	// dayBudget is how much CPU a day may take: a day that takes more is shorter.
	dayBudget = 2500 * time.Millisecond
	// heapGrowth is how many times as large the heap may be at the end of a week as at its beginning. What is the same each
	// day leaves nothing behind, but HeapAlloc varies by some percent.
	heapGrowth = 1.3
)

// TestWeek lives for a week in which much changes, and the same each day: daemons and simulation need no more memory at its end.
func TestWeek(t *testing.T) {
	s := *onAPIServer
	s.flags = []string{"--resync-period=10m", "--leader-elect-lease-duration=15m", "--leader-elect-renew-deadline=10m", "--leader-elect-retry-period=5m"} // or idling would be most of it
	s.steps = maps.Clone(s.steps)
	for _, elects := range []string{"kill", "restart", "override of a dying leader", "default of a dying leader"} {
		delete(s.steps, elects)
	}
	var heaps []float64
	if err := inWorld(t, &s, func(m *machine) error {
		for range 7 {
			began, cpu := time.Now(), cpuTime()
			for seed := range worldsPerDay {
				if err := m.live(s.days().Example(seed + 1)); err != nil {
					return err
				}
			}
			for time.Since(began) < 24*time.Hour && cpuTime()-cpu < dayBudget {
				time.Sleep(10 * time.Minute)
			}
			m.forget()
			time.Sleep(time.Second)
			heaps = append(heaps, heapInUse())
			t.Logf("%s lived, heap %.1f MiB", time.Since(began).Round(time.Minute), heaps[len(heaps)-1])
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	first, last := median(heaps[:3]), median(heaps[4:])
	if last > heapGrowth*first {
		t.Errorf("the heap has grown from %.1f MiB to %.1f MiB: %.1f", first, last, heaps)
	}
}

func median(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }

// heapInUse is what is reachable, in MiB.
func heapInUse() float64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / (1 << 20)
}

// forget makes the judge forget what is no longer needed.
func (m *machine) forget() {
	now := m.history[len(m.history)-1]
	m.history, m.log, m.outages = history{now}, []string{fmt.Sprint(time.Now())}, nil
	for o := range m.values {
		if !slices.Contains(slices.Collect(maps.Values(now.Objects)), o) {
			delete(m.values, o)
		}
	}
	m.store.Compact()
	for _, cluster := range m.clusters {
		m.karmada.Member(cluster).Store.Compact()
	}
	m.witness.mu.Lock()
	defer m.witness.mu.Unlock()
	m.witness.lost, m.witness.ended, m.witness.released = nil, map[string][]sight{}, nil
	for key, seen := range m.witness.seen {
		m.witness.seen[key] = slices.Clone(seen[len(seen)-1:])
	}
	m.audit.mu.Lock()
	defer m.audit.mu.Unlock()
	m.audit.calls = nil
	for _, r := range m.replicas {
		r.current.log.forget()
		r.processes = slices.Clone(r.processes[max(0, len(r.processes)-1):])
	}
}
