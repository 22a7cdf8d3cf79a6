package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/procfs"
)

// manyObjects returns the number of objects of the large measurements.
func (w *world) manyObjects() int { return pick(w.quick, 2_000, 20_000) }

// measureMemory measures the daemon as it grows: without objects, with objects, and with a Work
// for each of those that are annotated.
func measureMemory(ctx context.Context, w *world, r *report) error {
	n := w.manyObjects()
	what := fmt.Sprintf("memory with %d × %s", n, configMap1k.name)
	for _, clusters := range []string{"", allClusters} {
		heaps, resident, err := w.grow(ctx, n, clusters)
		if err != nil {
			return err
		}
		each := func(i int) float64 { return (heaps[i] - heaps[i-1]) / float64(n) }
		if clusters == "" {
			r.add(what, "karmada-mirror", "bytes of heap per object without annotation", each(1))
			continue
		}
		r.add(what, "karmada-mirror", "bytes of heap per annotated object", each(1))
		r.add(what, "karmada-mirror", "bytes of heap per Work", each(2))
		r.add(what, "karmada-mirror", "MB resident, with a Work for each", resident/1e6)
	}
	return nil
}

// grow returns the heap of a daemon with nothing, with n objects, and after a cluster has joined,
// which annotated ones get a Work for; and then its resident memory.
func (w *world) grow(ctx context.Context, n int, clusters string) (heaps []float64, resident float64, err error) {
	if err := w.reset(ctx); err != nil {
		return nil, 0, err
	}
	if err := w.joinClusters(ctx, 0); err != nil {
		return nil, 0, err
	}
	if err := w.configure(ctx, configMaps); err != nil {
		return nil, 0, err
	}
	d, err := w.startDaemon(ctx, w.daemon, "--enable-pprof", "--profiling-bind-address=127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	sources := pick(clusters == "", 0, n)
	for _, step := range []struct {
		add            func() error
		sources, works int
	}{
		{func() error { return nil }, 0, 0},
		{func() error { return w.createSources(ctx, configMap1k, n, clusters) }, sources, 0},
		{func() error { return w.joinCluster(ctx, clusterName(0)) }, sources, sources},
	} {
		if err := step.add(); err != nil {
			return nil, 0, err
		}
		if err := d.settled(ctx, configMaps, step.sources, step.works); err != nil {
			return nil, 0, err
		}
		heap, err := d.heap(ctx)
		if err != nil {
			return nil, 0, err
		}
		w.say("%d sources, %d Works: %.1f MB of heap", step.sources, step.works, heap/1e6)
		heaps = append(heaps, heap)
	}
	process, err := procfs.NewProc(d.PID())
	if err != nil {
		return nil, 0, err
	}
	stat, err := process.Stat()
	return heaps, float64(stat.ResidentMemory()), err
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
