package shared

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestAutoscaler: replicas that an autoscaler has set in a member stay, even when the source
// changes; without an autoscaler, Karmada restores the source's replicas.
func TestAutoscaler(t *testing.T) {
	t.Parallel()
	ns := NewNamespace(t)
	Create(t, Deployments, Asking(Deployment(ns, "web", "nginx:1", 2), Push))
	keda := Asking(Deployment(ns, "keda", "nginx:1", 2), Push)
	SetAnnotation(render.ReplicasAnnotation, "retain")(keda)
	Create(t, Deployments, keda)
	Create(t, Deployments, Asking(Deployment(ns, "plain", "nginx:1", 2), Push))
	Create(t, Autoscalers, Asking(autoscaler(ns), Push))
	for _, name := range []string{"web", "keda"} {
		Eventually(t, "Karmada to be told to retain replicas", InMember(Push, Deployments, ns, name, "true", "metadata", "labels", "resourcetemplate.karmada.io/retain-replicas"))
	}
	Eventually(t, "the Deployment without an autoscaler", InMember(Push, Deployments, ns, "plain", int64(2), "spec", "replicas"))
	for _, name := range []string{"web", "keda", "plain"} {
		_, err := Env.Member(Push).Resource(Deployments).Namespace(ns).Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}, "scale")
		Must(t, err)
		Change(t, Deployments, ns, name, SetField("two", "metadata", "labels", "edited"))
	}
	for name, replicas := range map[string]int64{"web": 3, "keda": 3, "plain": 2} {
		Eventually(t, "the edit", InMember(Push, Deployments, ns, name, "two", "metadata", "labels", "edited"))
		Eventually(t, "the replicas", InMember(Push, Deployments, ns, name, replicas, "spec", "replicas"))
	}
	Settle(t)
	for _, name := range []string{"web", "keda"} {
		Must(t, InMember(Push, Deployments, ns, name, int64(3), "spec", "replicas")(t.Context()))
	}
	// Without the autoscaler the source decides again.
	Remove(t, Autoscalers, ns, "web")
	Eventually(t, "the source's replicas", InMember(Push, Deployments, ns, "web", int64(2), "spec", "replicas"))
}
