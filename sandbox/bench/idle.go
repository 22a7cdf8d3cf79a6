package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// idleTime is how long nothing happens.
func (w *world) idleTime() time.Duration { return pick(w.quick, 10*time.Second, time.Minute) }

// measureIdleness counts what a leader writes when nothing happens, and what it looks at
// when next to nothing does.
func measureIdleness(ctx context.Context, w *world, r *report) (err error) {
	s := scenario{configMap1k, w.manyObjects(), 1}
	d, err := w.startMirroring(ctx, s, "--leader-elect=true")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	meter, err := w.newMeter(ctx, map[string]int{"karmada-mirror": d.PID()}, daemonUser)
	if err != nil {
		return err
	}
	select {
	case <-time.After(w.idleTime()):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	spent, err := meter.read(ctx)
	if err != nil {
		return err
	}
	r.text("**%s of idleness** with %d objects and as many Works: %v requests, %.2f s of CPU.", w.idleTime(), s.sources, spent.requests, spent.cpu["karmada-mirror"])
	delete(spent.requests, "update leases")
	r.never(fmt.Sprintf("writes in %s of idleness, but those of the Lease", w.idleTime()), 0, exactly(float64(writesOf(spent.requests))))
	return measureRelabelling(ctx, w, d, s, r)
}
