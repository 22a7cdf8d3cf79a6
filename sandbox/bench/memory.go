package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/procfs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// manyObjects returns the number of objects of the large measurements.
func (w *world) manyObjects() int { return pick(w.quick, 2_000, 20_000) }

// step adds objects or a cluster while a daemon runs.
type step struct {
	what string
	add  int // objects
	mark mark
	join bool // adds a cluster, for which every annotated object gets a Work
}

// serveProfiles are the flags of a daemon that can be asked to collect its garbage.
var serveProfiles = []string{"--enable-pprof", "--profiling-bind-address=127.0.0.1:0"}

// footprint is the memory of a daemon after a step and a garbage collection, in bytes.
type footprint struct {
	step
	objects, works int
	memory
}

// memory is what a daemon uses after a garbage collection, in bytes. besides is what Go needs
// besides the heap.
type memory struct{ heap, besides, resident float64 }

// measureMemory measures the daemon as it grows.
func measureMemory(ctx context.Context, w *world, r *report) error {
	stubs, sources, err := w.growBoth(ctx)
	if err != nil {
		return err
	}
	size, err := w.encodedSize(ctx, configMap1k)
	if err != nil {
		return err
	}
	r.table("Memory", fmt.Sprintf("Of the daemon, with 1 kB ConfigMaps (%d bytes of JSON each), after a garbage collection.", size),
		[]string{"objects", "state", "Works", "heap, MB", "resident, MB"}, append(rowsOf(stubs), rowsOf(sources[1:])...))
	each := keptOf(stubs, sources)
	r.atMost("heap per object without annotation, bytes", 500, exactly(each.stub))
	r.atMost("heap per annotated object ÷ its JSON", 1.5, exactly(each.source/float64(size)))
	r.atMost("heap per Work, bytes", 800, exactly(each.work))
	return r.plot("memory.svg", "Heap of the daemon by the number of objects", "Heap of the daemon", "objects", "MB", false,
		heapLine("not annotated", stubs[:3]...), heapLine("annotated", sources[:3]...), heapLine("annotated, with a Work each", sources[0], sources[3]))
}

// growBoth first creates objects without annotation, and then, with another daemon, annotated
// ones. They have no Works until there is a cluster.
func (w *world) growBoth(ctx context.Context) (stubs, sources []footprint, err error) {
	many := w.manyObjects()
	stubs, err = w.grow(ctx,
		step{what: "no objects"},
		step{what: "not annotated", add: many / 5, mark: unmarked},
		step{what: "not annotated", add: many * 79 / 100, mark: unmarked},
		step{what: "1 % annotated", add: many / 100, mark: annotated})
	if err != nil {
		return nil, nil, err
	}
	sources, err = w.grow(ctx,
		step{what: "no objects"},
		step{what: "annotated", add: many / 5, mark: annotated},
		step{what: "annotated", add: many * 4 / 5, mark: annotated},
		step{what: "annotated, one Work each", join: true})
	return stubs, sources, err
}

func rowsOf(footprints []footprint) [][]string {
	var rows [][]string
	for _, f := range footprints {
		rows = append(rows, []string{fmt.Sprint(f.objects), f.what, fmt.Sprint(f.works), fmt.Sprintf("%.1f", f.heap/1e6), fmt.Sprintf("%.1f", f.resident/1e6)})
	}
	return rows
}

// kept is the heap that a daemon keeps, in bytes each.
type kept struct{ stub, source, work float64 }

// keptOf takes what [world.growBoth] returns.
func keptOf(stubs, sources []footprint) kept {
	each := func(f, before footprint, n int) float64 { return (f.heap - before.heap) / float64(n) }
	return kept{
		stub:   each(stubs[2], stubs[0], stubs[2].objects),
		source: each(sources[2], sources[0], sources[2].objects),
		work:   each(sources[3], sources[2], sources[3].works),
	}
}

func heapLine(name string, footprints ...footprint) line {
	l := line{name: name}
	for _, f := range footprints {
		l.add(float64(f.objects), f.heap/1e6)
	}
	return l
}

// grow measures one daemon after each step, starting with nothing.
func (w *world) grow(ctx context.Context, steps ...step) (footprints []footprint, err error) {
	if err := w.reset(ctx); err != nil {
		return nil, err
	}
	if err := w.joinClusters(ctx, 0); err != nil {
		return nil, err
	}
	if err := w.configure(ctx, configMap1k.resource); err != nil {
		return nil, err
	}
	d, err := w.startDaemon(ctx, serveProfiles...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	f := footprint{}
	marked, clusters := 0, 0
	for _, f.step = range steps {
		if err := w.createSources(ctx, configMap1k, f.objects, f.add, f.mark); err != nil {
			return nil, err
		}
		f.objects += f.add
		if f.mark == annotated {
			marked += f.add
		}
		if f.join {
			if err := w.joinCluster(ctx, clusterName(clusters)); err != nil {
				return nil, err
			}
			clusters++
		}
		f.works = marked * clusters
		if err := d.settled(ctx, f.works); err != nil {
			return nil, err
		}
		if f.memory, err = d.memory(ctx); err != nil {
			return nil, err
		}
		w.say("memory: %v", rowsOf([]footprint{f})[0])
		footprints = append(footprints, f)
	}
	return footprints, nil
}

// memory has the daemon collect its garbage, which it does by itself in the middle of its work and
// then only every two minutes. The daemon serves profiles.
func (d *daemon) memory(ctx context.Context) (m memory, err error) {
	for range 2 { // the first only clears sync.Pools, and runs finalizers
		code, _, err := d.Get(ctx, "profiles", "/debug/pprof/heap?gc=1")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("status %d", code)
		}
		if err != nil {
			return memory{}, fmt.Errorf("cannot collect garbage: %w", err)
		}
	}
	series, err := d.Series(ctx)
	if err != nil {
		return memory{}, err
	}
	process, err := procfs.NewProc(d.PID())
	if err != nil {
		return memory{}, err
	}
	stat, err := process.Stat()
	return memory{
		heap: series["go_memstats_heap_alloc_bytes"], besides: series["go_memstats_sys_bytes"] - series["go_memstats_heap_sys_bytes"],
		resident: float64(stat.ResidentMemory()),
	}, err
}

// encodedSize returns the size of a source as the API server sends it, in bytes.
func (w *world) encodedSize(ctx context.Context, load workload) (int, error) {
	u, err := w.admin.Resource(load.resource).Namespace(namespace).Get(ctx, sourceName(0), metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	encoded, err := u.MarshalJSON()
	return len(encoded), err
}
