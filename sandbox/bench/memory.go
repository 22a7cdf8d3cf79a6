package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/procfs"
)

// manyObjects returns the number of objects of the large measurements.
func (w *world) manyObjects() int { return pick(w.Quick, 2_000, 20_000) }

// measureMemory measures a daemon as it grows: with nothing, with objects that are not mirrored,
// with as many that are, and with a Work for each of these when a cluster has joined.
func measureMemory(ctx context.Context, w *world, r *report) (err error) {
	if err := w.reset(ctx); err != nil {
		return err
	}
	if err := w.joinClusters(ctx, 0); err != nil {
		return err
	}
	d, err := w.daemon.launch(ctx, w, configMaps, "--enable-pprof", "--profiling-bind-address=127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	before, err := d.heap(ctx)
	if err != nil {
		return err
	}
	n := w.manyObjects()
	what := fmt.Sprintf("memory, %d × %s", n, configMap1k.name)
	for _, step := range []struct {
		figure         string
		sources, works int // in the end
		add            func() error
	}{
		{"object without annotation", 0, 0, func() error { return w.createSources(ctx, configMap1k, 0, n, "") }},
		{"annotated object", n, 0, func() error { return w.createSources(ctx, configMap1k, n, n, allClusters) }},
		{"Work", n, n, func() error { return w.joinCluster(ctx, clusterName(0)) }},
	} {
		if err := step.add(); err != nil {
			return err
		}
		if err := d.settled(ctx, configMaps, step.sources, step.works); err != nil {
			return err
		}
		heap, err := d.heap(ctx)
		if err != nil {
			return err
		}
		w.say("%d sources, %d Works: %.1f MB of heap", step.sources, step.works, heap/1e6)
		r.add(what, w.daemon.title, "bytes of heap per "+step.figure, (heap-before)/float64(n))
		before = heap
	}
	process, err := procfs.NewProc(d.PID())
	if err != nil {
		return err
	}
	stat, err := process.Stat()
	r.add(what, w.daemon.title, "MB resident with all of that", float64(stat.ResidentMemory())/1e6)
	return err
}

// heap has the daemon collect its garbage, which it does by itself in the middle of its work and
// then only every two minutes, and returns the bytes that are left. The daemon serves profiles.
func (d daemon) heap(ctx context.Context) (float64, error) {
	for range 2 { // the first only clears sync.Pools, and runs finalizers
		code, _, err := d.Get(ctx, "profiles", "/debug/pprof/heap?gc=1")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("status %d", code)
		}
		if err != nil {
			return 0, fmt.Errorf("cannot collect garbage: %w", err)
		}
	}
	return d.Metric(ctx, "go_memstats_heap_alloc_bytes")
}
