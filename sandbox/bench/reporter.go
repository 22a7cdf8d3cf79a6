package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/karmada-target/karmada-mirror/render"
)

// reporter reports the Deployments in Works as Karmada does: first that one is being rolled out, and
// then that it has been.
type reporter struct {
	w    *world
	stop func()

	mu sync.Mutex
	// done has the images that have been rolled out, by the namespace/name of the Work.
	done map[string]string
}

// reporters is how many reports are written at once.
const reporters = 8

// startReporter runs a reporter until it is stopped.
func (w *world) startReporter(ctx context.Context) (*reporter, error) {
	r := &reporter{w: w, done: map[string]string{}}
	works := make(chan *unstructured.Unstructured, 100_000)
	informer := dynamicinformer.NewFilteredDynamicInformer(w.admin, worksResource, metav1.NamespaceAll, 0, nil, nil).Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { works <- o.(*unstructured.Unstructured) },
		UpdateFunc: func(_, o any) { works <- o.(*unstructured.Unstructured) },
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx); close(works) })
	for range reporters {
		running.Go(func() {
			for work := range works {
				r.report(ctx, work)
			}
		})
	}
	r.stop = func() { cancel(); running.Wait() }
	return r, nil
}

// report writes the next report on a Work, if one is missing. A Work that has changed meanwhile is an
// event.
func (r *reporter) report(ctx context.Context, work *unstructured.Unstructured) {
	manifest, err := render.ManifestOf(work.Object)
	if err != nil || work.GetDeletionTimestamp() != nil {
		return
	}
	image := imageIn(manifest)
	reports, _, _ := unstructured.NestedSlice(work.Object, "status", "manifestStatuses")
	begun, isDone := false, false
	if len(reports) == 1 {
		status, _, _ := unstructured.NestedMap(reports[0].(map[string]any), "status")
		begun = status["generation"] == work.GetGeneration()
		isDone = begun && status["updatedReplicas"] == status["replicas"]
	}
	if isDone {
		r.mu.Lock()
		r.done[work.GetNamespace()+"/"+work.GetName()] = image
		r.mu.Unlock()
		return
	}
	updated := int64(1)
	if begun {
		updated = replicasReported
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": work.GetResourceVersion()}, "status": statusOf(work, manifest, updated),
	})
	if err == nil {
		_, _ = r.w.admin.Resource(worksResource).Namespace(work.GetNamespace()).Patch(ctx, work.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	}
}

const replicasReported = int64(3)

func statusOf(work *unstructured.Unstructured, manifest map[string]any, updated int64) map[string]any {
	of := render.GenerationOf(manifest)
	status := map[string]any{
		"generation": work.GetGeneration(), "observedGeneration": work.GetGeneration(), "resourceTemplateGeneration": of,
		"replicas": replicasReported, "updatedReplicas": updated, "readyReplicas": replicasReported, "availableReplicas": replicasReported,
	}
	identifier := map[string]any{"ordinal": 0, "group": "apps", "version": "v1", "kind": "Deployment", "resource": deployments.Resource, "namespace": namespace, "name": work.GetName()}
	return map[string]any{
		"conditions":       []any{map[string]any{"type": "Applied", "status": "True", "reason": "Bench", "message": strconv.FormatInt(of, 10), "lastTransitionTime": metav1.Now()}},
		"manifestStatuses": []any{map[string]any{"identifier": identifier, "status": status, "health": "Healthy"}},
	}
}

func imageIn(manifest map[string]any) string {
	containers, _, _ := unstructured.NestedSlice(manifest, "spec", "template", "spec", "containers")
	if len(containers) == 0 {
		return ""
	}
	container, _ := containers[0].(map[string]any)
	image, _ := container["image"].(string)
	return image
}

// unfinished returns an error until so many Works have been rolled out with an image.
func (r *reporter) unfinished(image string, works int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, done := range r.done {
		if done == image {
			n++
		}
	}
	if n < works {
		return fmt.Errorf("%d of %d Works are rolled out", n, works)
	}
	return nil
}
