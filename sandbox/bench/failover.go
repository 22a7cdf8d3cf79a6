package bench

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// measureFailover ends the leader of two replicas while objects arrive, in two ways.
func measureFailover(ctx context.Context, w *world, r *report) error {
	if err := w.joinClusters(ctx, 1); err != nil {
		return err
	}
	var killed, ended []float64
	for range w.repetitions {
		for _, way := range []struct {
			signal syscall.Signal
			times  *[]float64
		}{{syscall.SIGKILL, &killed}, {syscall.SIGTERM, &ended}} {
			pause, err := w.failOver(ctx, way.signal)
			if err != nil {
				return err
			}
			w.say("the leader ended by %s: no Work for %s", way.signal, pause)
			*way.times = append(*way.times, pause.Seconds())
		}
	}
	r.measured("end of the leader to the standby's first Work", "%s s after SIGKILL (the Lease lasts 15 s), %s s after SIGTERM",
		summarize(killed).format(1), summarize(ended).format(2))
	return nil
}

// failOver returns the time from the end of the leader to the Work of an object that is
// created right after it.
func (w *world) failOver(ctx context.Context, signal syscall.Signal) (pause time.Duration, err error) {
	if err := w.reset(ctx); err != nil {
		return 0, err
	}
	if err := w.configure(ctx, configMap1k.resource); err != nil {
		return 0, err
	}
	var daemons []*daemon
	defer func() {
		for _, d := range daemons {
			if stopErr := d.Stop(); stopErr != nil && !(signal == syscall.SIGKILL && d == daemons[0]) {
				err = errors.Join(err, stopErr)
			}
		}
	}()
	eyes, err := observe(ctx, w.Config(), nil, worksResource)
	if err != nil {
		return 0, err
	}
	defer eyes.stop()
	for i := range 2 {
		d, err := w.startDaemon(ctx, "--leader-elect=true")
		if err != nil {
			return 0, err
		}
		daemons = append(daemons, d)
		// The first leads before the second starts.
		if err := w.createSources(ctx, configMap1k, i, 1, annotated); err != nil {
			return 0, err
		}
		if err := eyes.await(ctx, worksResource, i+1); err != nil {
			return 0, err
		}
	}
	if err := daemons[0].Signal(signal); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := w.createSources(ctx, configMap1k, 2, 1, annotated); err != nil {
		return 0, err
	}
	err = eyes.await(ctx, worksResource, 3)
	return time.Since(began), err
}
