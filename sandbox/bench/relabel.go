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
	// quiet is how long no sync is awaited any more.
	quiet = 3 * time.Second
)

// measureRelabelling counts the syncs of a daemon that knows very many objects when a
// Cluster gets a label by which a few of them select. A Work that the watch shows before
// its creation is answered has its source looked at once more.
func measureRelabelling(ctx context.Context, w *world, d *daemon, s scenario, r *report) error {
	w.present, w.made = batch{}, allWorks{} // there will be others
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
	err = until(ctx, "the Works of the objects that select the cluster are there", func(ctx context.Context) error {
		created, err := d.Metric(ctx, fmt.Sprintf(`karmada_mirror_works{member_cluster=%q,state="pending"}`, clusterName(0)))
		if err == nil && int(created) < s.works()+selecting {
			err = fmt.Errorf("there are %.0f", created)
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
	r.text("**A Cluster gets a label** that %d of %d objects select by: their Works are there after %s.", selecting, s.sources+selecting, took.Round(time.Millisecond))
	r.atMost(fmt.Sprintf("syncs for a Cluster relabelled that concerns %d of %d objects", selecting, s.sources+selecting), 2*selecting, exactly(after-before))
	return nil
}

// syncsAtRest is how many syncs there were when there have been no more for a while.
func (w *world) syncsAtRest(ctx context.Context, d *daemon) (float64, error) {
	last, since := -1.0, time.Now()
	err := until(ctx, "no source is synced any more", func(ctx context.Context) error {
		n, err := d.Metric(ctx, `karmada_mirror_sync_duration_seconds_count{result="success"}`)
		if err != nil {
			return err
		}
		if n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) < quiet {
			return fmt.Errorf("there have been %.0f", n)
		}
		return nil
	})
	return last, err
}
