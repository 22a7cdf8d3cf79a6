package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
)

// measureRemoval removes one cluster from the targets of many objects.
func measureRemoval(ctx context.Context, w *world, r *report) (err error) {
	s := scenario{configMap1k, pick(w.quick, 500, 2000), 2}
	d, err := w.startMirroring(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	w.present, w.made = batch{}, allWorks{} // they are about to change
	eyes, err := observe(ctx, w.Config(), func(o *metav1.PartialObjectMetadata) bool { return o.DeletionTimestamp != nil }, worksResource)
	if err != nil {
		return err
	}
	defer eyes.stop()
	meter, err := w.newMeter(ctx, map[string]int{"karmada-mirror": d.PID()}, daemonUser)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := w.retarget(ctx, s, "bench-*,!"+clusterName(0)); err != nil {
		return err
	}
	edited := time.Since(began)
	if err := eyes.await(ctx, worksResource, s.sources); err != nil {
		return err
	}
	took := time.Since(began)
	if err := meter.awaitRest(ctx, func(ctx context.Context) error { return d.unfinished(ctx, s.works()-s.sources) }); err != nil {
		return err
	}
	spent, err := meter.read(ctx)
	if err != nil {
		return err
	}
	r.measured(fmt.Sprintf("one cluster removed from the targets of %d objects", s.sources), "last Work deleted %.1f s after the first edit, of which the edits took %.1f s; requests: %s",
		took.Seconds(), edited.Seconds(), listRequests(spent.requests, strconv.Itoa))
	deletions := float64(s.sources)
	r.never("reads of the source per deleted Work", 1, exactly(float64(spent.requests["get "+s.load.resource.Resource])/deletions))
	return nil
}

// retarget changes the annotation of every source.
func (w *world) retarget(ctx context.Context, s scenario, targets string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inParallel)
	for i := range s.sources {
		group.Go(func() error {
			patch := []byte(`{"metadata":{"annotations":{"` + render.ClustersAnnotation + `":"` + targets + `"}}}`)
			_, err := w.admin.Resource(s.load.resource).Namespace(namespace).Patch(ctx, sourceName(i), types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		})
	}
	return group.Wait()
}
