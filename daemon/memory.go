package daemon

import (
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"go.uber.org/zap"
)

// memoryRatio is the share of the container's memory limit that Go's garbage
// collector keeps to; the rest is for memory that it does not count. The alert
// KarmadaMirrorMemoryHigh divides by it.
const memoryRatio = 0.9

// limitMemory makes the garbage collector keep to the memory limit of the
// container, which container reads, unless $GOMEMLIMIT says otherwise. GOMAXPROCS
// follows the CPU limit by Go itself.
func limitMemory(container memlimit.Provider, logger *zap.Logger) {
	limit, err := memlimit.Set(memlimit.WithProvider(container), memlimit.WithRatio(memoryRatio))
	switch {
	case err != nil: // outside of a container there may be no cgroup
		logger.Info("no memory limit", zap.Error(err))
	case limit != math.MaxInt64:
		logger.Info("memory limit", zap.Int64("GOMEMLIMIT", limit))
	}
}
