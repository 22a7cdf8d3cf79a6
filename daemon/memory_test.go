package daemon

import (
	"errors"
	"math"
	"os"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"go.uber.org/zap"
)

func TestLimitMemory(t *testing.T) {
	const container, given = 512 << 20, 100 << 20
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	cases := map[string]struct {
		reason    string
		container memlimit.Provider
		// environment: the runtime has already read $GOMEMLIMIT.
		environment bool
		want        int64
	}{
		"Container":   {"90 % of the container's limit", memlimit.Limit(container), false, container * 9 / 10},
		"Environment": {"$GOMEMLIMIT takes precedence", memlimit.Limit(container), true, given},
		"Unlimited":   {"the container has no limit", func() (uint64, error) { return 0, memlimit.ErrNoLimit }, false, math.MaxInt64},
		"NoCgroup":    {"there is no container", func() (uint64, error) { return 0, errors.New("no cgroup") }, false, math.MaxInt64},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			debug.SetMemoryLimit(math.MaxInt64)
			t.Setenv("GOMEMLIMIT", "100MiB")
			if tc.environment {
				debug.SetMemoryLimit(given)
			} else {
				_ = os.Unsetenv("GOMEMLIMIT") // Setenv restores it
			}
			limitMemory(tc.container, zap.NewNop())
			if got := debug.SetMemoryLimit(-1); got != tc.want {
				t.Errorf("%s: the limit is %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
