package bench

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
)

const (
	selecting = 10
	// quiet is how long no sync must happen before the daemon counts as at rest.
	quiet = 3 * time.Second
)

// measureRelabelling counts the syncs of a daemon with very many objects when a Cluster gets
// a label that a few of them select by. If the watch shows a Work before the response to its
// create, its source is synced a second time.
func measureRelabelling(ctx context.Context, w *world, d *daemon, s scenario, r *report) error {
	w.present, w.made = batch{}, allWorks{} // they are about to change
	chosen := configMap1k
	for i := range selecting {
		u := chosen.make(fmt.Sprintf("selecting-%d", i))
		u.SetAnnotations(map[string]string{render.ClusterSelectorAnnotation: "bench.karmada.target/tier=edge"})
		if _, err := w.admin.Resource(chosen.resource).Namespace(namespace).Create(ctx, u, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	before, err := w.syncsAtRest(ctx, d)
	if err != nil {
		return err
	}
	began := time.Now()
	patch := []byte(`{"metadata":{"labels":{"bench.karmada.target/tier":"edge"}}}`)
	if _, err := w.admin.Resource(clustersResource).Patch(ctx, clusterName(0), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	err = until(ctx, "the Works of the objects that select the cluster exist", func(ctx context.Context) error {
		created, err := d.Metric(ctx, fmt.Sprintf(`karmada_mirror_works{member_cluster=%q,state="pending"}`, clusterName(0)))
		if err == nil && int(created) < s.works()+selecting {
			err = fmt.Errorf("there are %.0f so far", created)
		}
		return err
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	after, err := w.syncsAtRest(ctx, d)
	if err != nil {
		return err
	}
	r.measured(fmt.Sprintf("a Cluster gets a label that %d of %d objects select by", selecting, s.sources+selecting), "their Works exist after %s", took.Round(time.Millisecond))
	r.atMost(fmt.Sprintf("syncs when a Cluster gets a label that %d of %d objects select by", selecting, s.sources+selecting), 2*selecting, exactly(after-before))
	return nil
}

// syncsAtRest returns the number of syncs once there have been no new ones for a while.
func (w *world) syncsAtRest(ctx context.Context, d *daemon) (float64, error) {
	last, since := -1.0, time.Now()
	err := until(ctx, "no more sources are synced", func(ctx context.Context) error {
		n, err := d.Metric(ctx, `karmada_mirror_sync_duration_seconds_count{result="success"}`)
		if err != nil {
			return err
		}
		if n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) < quiet {
			return fmt.Errorf("there have been %.0f syncs", n)
		}
		return nil
	})
	return last, err
}
