package shared

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

var autoscalers = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}

// TestAutoscaler: replicas that an autoscaler has set in a member stay, even when the
// source changes; without an autoscaler, Karmada restores the source's replicas.
func TestAutoscaler(t *testing.T) {
	ns := Isolate(t)
	Configure(t, Resources(t, "configmaps", "deployments.apps", "horizontalpodautoscalers.autoscaling"))
	StartDaemon(t)
	scaled := func(name string, more map[string]string) {
		annotations := map[string]string{render.ClustersAnnotation: Push}
		for key, value := range more {
			annotations[key] = value
		}
		u := Object("apps/v1", "Deployment", ns, name, map[string]any{"spec": map[string]any{
			"replicas": int64(3),
			"selector": map[string]any{"matchLabels": map[string]any{"app": name}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": name}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "nginx"}}},
			},
		}})
		u.SetAnnotations(annotations)
		Create(t, Deployments, u)
	}
	scaled("web", nil)
	scaled("keda", map[string]string{render.ReplicasAnnotation: "retain"})
	scaled("plain", nil)
	hpa := Object("autoscaling/v2", "HorizontalPodAutoscaler", ns, "web", map[string]any{"spec": map[string]any{
		"maxReplicas": int64(9), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
	}})
	hpa.SetAnnotations(map[string]string{render.ClustersAnnotation: Push})
	Create(t, autoscalers, hpa)

	member := Env.Member(Push).Resource(Deployments).Namespace(ns)
	replicas := func(name string, want int64) func(context.Context) error {
		return func(ctx context.Context) error {
			u, err := member.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); got != want {
				return fmt.Errorf("%s has %d replicas, not %d", name, got, want)
			}
			return nil
		}
	}
	for _, name := range []string{"web", "keda"} {
		Eventually(t, "the label in the member that retains its replicas", func(ctx context.Context) error {
			u, err := member.Get(ctx, name, metav1.GetOptions{})
			if err == nil && u.GetLabels()["resourcetemplate.karmada.io/retain-replicas"] != "true" {
				err = fmt.Errorf("its labels are %v", u.GetLabels())
			}
			return err
		})
	}
	Eventually(t, "the Deployment without an autoscaler", replicas("plain", 3))
	for _, name := range []string{"web", "keda", "plain"} {
		_, err := member.Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"replicas":7}}`), metav1.PatchOptions{}, "scale")
		Must(t, err)
		Change(t, Deployments, ns, name, SetField("nginx:1.29", "spec", "template", "metadata", "annotations", "image"))
	}
	Eventually(t, "Karmada to restore the replicas without an autoscaler", replicas("plain", 3))
	Pass(t, 5*time.Second)
	Must(t, replicas("web", 7)(t.Context()), replicas("keda", 7)(t.Context()))

	// Without the autoscaler the source decides again.
	Remove(t, autoscalers, ns, "web")
	Eventually(t, "the source's replicas", replicas("web", 3))
}
