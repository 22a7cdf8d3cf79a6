package bench

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
)

var policyBindings = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}

// policyRefresh is longer than the API server takes to notice a policy: it checks once a
// second.
const policyRefresh = 3 * time.Second

// measureAdmission compares writes with and without the admission policy of the manifests.
func measureAdmission(ctx context.Context, w *world, r *report) error {
	binding, err := w.admin.Resource(policyBindings).Get(ctx, "karmada-mirror", metav1.GetOptions{})
	if err != nil {
		return err
	}
	binding.SetResourceVersion("")
	binding.SetUID("")
	n := pick(w.quick, 300, 2000)
	written := []struct {
		what        string
		annotations map[string]string
	}{
		{"without karmada.target/ annotations", nil},
		{"with karmada.target/clusters", map[string]string{render.ClustersAnnotation: "member1,member2"}},
	}
	for _, c := range written {
		var with, without, differences []float64
		for range w.repetitions {
			if err := w.admin.Resource(policyBindings).Delete(ctx, binding.GetName(), metav1.DeleteOptions{}); err != nil {
				return err
			}
			free, err := w.timeWrites(ctx, n, c.annotations)
			if err != nil {
				return err
			}
			if _, err := w.admin.Resource(policyBindings).Create(ctx, binding.DeepCopy(), metav1.CreateOptions{}); err != nil {
				return err
			}
			bound, err := w.timeWrites(ctx, n, c.annotations)
			if err != nil {
				return err
			}
			with, without, differences = append(with, 1000*bound), append(without, 1000*free), append(differences, 1000*(bound-free))
		}
		w.say("a write %s: %s ms with the policy, %s ms without", c.what, summarize(with).format(2), summarize(without).format(2))
		r.measured("latency that the admission policy adds to a write "+c.what, "%s ms: the median of %d dry-run creates, one after the other, is %s ms with it and %s ms without",
			summarize(differences).format(2), n, summarize(with).format(2), summarize(without).format(2))
	}
	return nil
}

// timeWrites returns the median time of a write, in seconds, once the API server knows the
// current policies.
func (w *world) timeWrites(ctx context.Context, n int, annotations map[string]string) (float64, error) {
	select {
	case <-time.After(policyRefresh):
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	took := make([]float64, 0, n)
	for i := range n {
		u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"key": "value"}}}
		u.SetAPIVersion("v1")
		u.SetKind("ConfigMap")
		u.SetName(fmt.Sprintf("admitted-%d", i))
		u.SetAnnotations(annotations)
		began := time.Now()
		if _, err := w.admin.Resource(configMaps).Namespace(namespace).Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began).Seconds())
	}
	return summarize(took).median, nil
}
