package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// idleTime returns how long nothing happens.
func (w *world) idleTime() time.Duration { return pick(w.quick, 10*time.Second, time.Minute) }

// measureIdleness counts what a leader writes when nothing happens, and what it syncs when
// next to nothing does.
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
	r.measured(fmt.Sprintf("idle for %s with %d objects and as many Works", w.idleTime(), s.sources), "%.2f s of CPU; requests: %s",
		spent.cpu["karmada-mirror"], listRequests(spent.requests, strconv.Itoa))
	delete(spent.requests, "update leases")
	r.never(fmt.Sprintf("write requests while idle for %s, except for the Lease", w.idleTime()), 0, exactly(float64(writesOf(spent.requests))))
	return measureRelabelling(ctx, w, d, s, r)
}
