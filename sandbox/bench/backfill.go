package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
)

// liveSources is how many sources are edited in turn during a backfill.
const liveSources = 20

// editsDuringBackfill measures the time from an edit of a mirrored source until all its Works
// are updated, while karmada-mirror creates the Works of many other sources.
func editsDuringBackfill(ctx context.Context, w *world, r *report) error {
	backfill := scenario{deployment, pick(w.quick, 500, 1_000), 10}
	l, rate, reads, err := w.editsDuring(ctx, backfill)
	if err != nil {
		return err
	}
	r.measured(fmt.Sprintf("edit to the last of the object's %d Works, during a backfill of %s (%.0f Works/s), one edit after the other", backfill.clusters, backfill, rate), "%s", l)
	r.atMost(fmt.Sprintf("p99 of an edit during a backfill of %d objects on %d clusters, seconds", backfill.sources, backfill.clusters), 1, exactly(l.quantile(0.99)))
	r.never("read requests per updated Work, during a backfill", 0, exactly(reads))
	return nil
}

func (w *world) editsDuring(ctx context.Context, backfill scenario) (l latencies, rate, reads float64, err error) {
	if err := w.joinClusters(ctx, backfill.clusters); err != nil {
		return nil, 0, 0, err
	}
	if err := w.reset(ctx); err != nil {
		return nil, 0, 0, err
	}
	live := scenario{configMap1k, liveSources, backfill.clusters}
	for _, s := range []scenario{live, backfill} {
		if err := w.createSources(ctx, s.load, 0, s.sources, annotated); err != nil {
			return nil, 0, 0, err
		}
	}
	d, err := w.startIdleDaemon(ctx)
	if err != nil {
		return nil, 0, 0, err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	eyes, err := observe(ctx, w.Config(), nil, worksResource)
	if err != nil {
		return nil, 0, 0, err
	}
	defer eyes.stop()
	if err := w.configure(ctx, live.load.resource); err != nil {
		return nil, 0, 0, err
	}
	if err := eyes.await(ctx, worksResource, live.works()); err != nil {
		return nil, 0, 0, err
	}
	if err := w.configure(ctx, live.load.resource, backfill.load.resource); err != nil {
		return nil, 0, 0, err
	}
	from, to := live.works()+backfill.works()/20, live.works()+backfill.works()*19/20
	if err := eyes.await(ctx, worksResource, from); err != nil {
		return nil, 0, 0, err
	}
	meter, err := w.newMeter(ctx, map[string]int{"karmada-mirror": d.PID()}, daemonUser)
	if err != nil {
		return nil, 0, 0, err
	}
	began := time.Now()
	for i := 0; eyes.count(worksResource) < to; i++ {
		took, err := w.edit(ctx, eyes, live, i)
		if err != nil {
			return nil, 0, 0, err
		}
		l = append(l, took)
	}
	rate = float64(to-from) / time.Since(began).Seconds()
	spent, err := meter.read(ctx)
	if err != nil {
		return nil, 0, 0, err
	}
	slices.Sort(l)
	return l, rate, float64(readsOf(spent.requests)) / float64(len(l)*live.clusters), nil
}

// edit changes one source and waits until its Works have changed.
func (w *world) edit(ctx context.Context, eyes *observer, s scenario, i int) (time.Duration, error) {
	name := sourceName(i % s.sources)
	works := s.worksOf(name)
	before := eyes.generations(works)
	patch := fmt.Appendf(nil, `{"data":{"edit":%q}}`, strconv.Itoa(i))
	began := time.Now()
	_, err := w.admin.Resource(s.load.resource).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return 0, err
	}
	err = eyes.awaitLater(ctx, works, before)
	return time.Since(began), err
}

// worksOf returns the names of a source's Works.
func (s scenario) worksOf(source string) []types.NamespacedName {
	gvk := s.load.make("any").GroupVersionKind()
	id := render.Identity{Group: gvk.Group, Kind: gvk.Kind, Namespace: namespace, Name: source}
	var works []types.NamespacedName
	for c := range s.clusters {
		works = append(works, types.NamespacedName{Namespace: render.ExecutionNamespace(clusterName(c)), Name: id.WorkName()})
	}
	return works
}
