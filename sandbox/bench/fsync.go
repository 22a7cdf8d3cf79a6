package bench

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// withFsync repeats the comparison with the bare loop with an etcd that syncs to disk before
// it answers, as every durable etcd does. The sandbox's does not.
func withFsync(ctx context.Context, w *world, r *report) (err error) {
	etcd := w.Component(karmada.Etcd)
	if err := etcd.RestartWith(ctx, "--unsafe-no-fsync=false"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, etcd.RestartWith(ctx), w.awaitServed(ctx)) }()
	if err := w.awaitServed(ctx); err != nil {
		return err
	}
	c, err := w.compareWithLoop(ctx, r, "etcd with fsync", w.repetitions, scenario{configMap1k, pick(w.quick, 300, 500), 2})
	if err != nil {
		return err
	}
	if c.of(mirrored, syncs).least == 0 {
		return errors.New("etcd has not written to the disk")
	}
	r.measured("etcd's fsyncs on "+w.disk, "%s per Work of karmada-mirror, %s per Work of the bare loop, %s ms each",
		c.of(mirrored, syncs).format(2), c.of(bare, syncs).format(2), c.of(mirrored, syncTime).format(2))
	return nil
}

func syncs(o outcome) float64    { return o.disk.syncs / float64(o.works) }
func syncTime(o outcome) float64 { return 1000 * o.disk.took / o.disk.syncs }

// awaitServed waits until the API servers have reconnected to etcd.
func (w *world) awaitServed(ctx context.Context) error {
	return until(ctx, "the API servers have reconnected to etcd", func(ctx context.Context) error {
		for _, resource := range []schema.GroupVersionResource{clustersResource, worksResource, configMaps} {
			if _, err := w.admin.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
				return err
			}
		}
		return w.ensureNamespace(ctx, namespace)
	})
}
