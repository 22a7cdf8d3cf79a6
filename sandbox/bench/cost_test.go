package bench

import (
	"testing"
	"time"
)

func TestAtRest(t *testing.T) {
	begun := time.Unix(0, 0)
	// used makes samples a tenth of a second apart from the CPU used in between.
	used := func(seconds ...float64) []usage {
		samples := []usage{{begun, 10}}
		for i, s := range seconds {
			last := samples[i]
			samples = append(samples, usage{last.at.Add(100 * time.Millisecond), last.cpu + s})
		}
		return samples
	}
	cases := map[string]struct {
		reason  string
		samples []usage
		want    bool
	}{
		"None":      {"Nothing is known yet.", nil, false},
		"TooEarly":  {"It has been calm, but not for long enough.", used(0, 0, 0, 0), false},
		"Calm":      {"It has been calm for long enough.", used(0.01, 0, 0.01, 0, 0.01), true},
		"Busy":      {"Two cores are busy.", used(0.2, 0.2, 0.2, 0.2, 0.2, 0.2), false},
		"Trickle":   {"A controller goes on slowly, because of its rate limit.", used(0.02, 0.02, 0.02, 0.02, 0.02), false},
		"LateBurst": {"A pause has ended.", used(0, 0, 0, 0, 0.2), false},
		"WasBusy":   {"Usage before the calm does not count.", used(0.2, 0.2, 0, 0, 0, 0, 0), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := atRest(tc.samples); got != tc.want {
				t.Errorf("%s atRest() = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestReadsAndWrites(t *testing.T) {
	requests := map[string]int{
		"get configmaps": 2, "get works (404)": 1, "get leases": 4, "get ": 8, "list works": 16, "watch works": 32,
		"create works": 1, "create works (409)": 2, "update works/status": 4, "patch works": 8, "delete works": 16,
	}
	if got := readsOf(requests); got != 3 {
		t.Errorf("readsOf() = %d, want 3: the ConfigMaps and the missing Work", got)
	}
	if got := writesOf(requests); got != 31 {
		t.Errorf("writesOf() = %d, want 31", got)
	}
}

func TestDiskSince(t *testing.T) {
	if got, want := (disk{5, 3, 2}).since(disk{1, 1, 0.5}), (disk{4, 2, 1.5}); got != want {
		t.Errorf("since() = %v, want %v", got, want)
	}
}
