package shared

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestRollout rolls out in waves, with Pods that really run or fail, and follows it by the
// status of the source, which sums up the members.
func TestRollout(t *testing.T) {
	t.Parallel()
	ns := NewNamespace(t)
	setImage := func(image string) { Kubectl(t, "-n", ns, "set", "image", "deployment/web", "web="+image) }
	audit := AuditFromNow(t)
	ends := func(what, image string, writes ...string) {
		t.Helper()
		Kubectl(t, "-n", ns, "rollout", "status", "deployment/web", "--timeout=180s")
		for _, member := range []string{Push, Pull} {
			if err := runs(member, ns, image)(t.Context()); err != nil {
				t.Errorf("%s has ended too early: %v", what, err)
			}
		}
		if diff := cmp.Diff(writes, audit.WorkWrites(t, deployment(ns, "web").WorkName())); diff != "" {
			t.Errorf("%s: the writes, -want +got:\n%s", what, diff)
		}
	}
	web := Asking(Deployment(ns, "web", "nginx:1", 2), Both)
	SetAnnotation(render.WavesAnnotation, Push+";*")(web)
	SetAnnotation(render.WaveDeadlineAnnotation, "10s")(web)
	Create(t, Deployments, web)
	ends("the first rollout", "nginx:1", "create karmada-es-"+Push, "create karmada-es-"+Pull)
	WantLine(t, MustKarmadaMirror(t, "wait", "deployment/web", "-n", ns, "--for=healthy", "--timeout=180s"), "healthy")
	WantLine(t, MustKarmadaMirror(t, "status", "deploy", "web", "-n", ns), `^Deployment\.apps/`+ns+`/web +2/2 +\S+ +4/4 +True +Healthy`)
	audit = AuditFromNow(t)
	setImage("nginx:2")
	ends("a good image", "nginx:2", "patch karmada-es-"+Push, "patch karmada-es-"+Pull)

	audit = AuditFromNow(t)
	setImage("broken:1")
	Eventually(t, "the canary to have the bad image", hasImage(Push, ns, "broken:1"))
	WantEvent(t, ns, "web", "WaveHeld", "wave 1 ("+Push+")", "not healthy")
	const held = `karmada_mirror_wave_held_sources{resource="deployments.apps"}`
	Eventually(t, "the metric that an alert uses", Env.Mirror.WantMetric(held, 1))
	if output, err := TryKubectl(t, "-n", ns, "rollout", "status", "deployment/web", "--timeout=1s"); err == nil {
		t.Errorf("kubectl calls a held rollout complete: %s", output)
	}
	Must(t, hasImage(Pull, ns, "nginx:2")(t.Context()))
	// A member whose turn it is not yet is looked after.
	Must(t, Env.Member(Pull).Resource(Deployments).Namespace(ns).Delete(t.Context(), "web", metav1.DeleteOptions{}))
	Eventually(t, "Karmada to recreate it", runs(Pull, ns, "nginx:2"))
	before := pods(t, Pull, ns)
	if writes := audit.WorkWrites(t, deployment(ns, "web").WorkName()); !cmp.Equal(writes, []string{"patch karmada-es-" + Push}) {
		t.Errorf("a bad image is written to %v", writes)
	}
	setImage("nginx:2")
	ends("the revert", "nginx:2", "patch karmada-es-"+Push, "patch karmada-es-"+Push)
	if now := pods(t, Pull, ns); !cmp.Equal(before, now) {
		t.Errorf("the revert has replaced Pods: %v, %v", before, now)
	}
	Eventually(t, "nothing to be held", Env.Mirror.WantMetric(held, 0))
	Remove(t, Deployments, ns, "web")
	WantGone(t, Deployments, ns, "web", Push, Pull)
}

// pods are the UIDs of the Pods in a member.
func pods(t *testing.T, member, ns string) map[string]types.UID {
	t.Helper()
	list, err := Env.Member(member).Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(ns).List(t.Context(), metav1.ListOptions{})
	Must(t, err)
	uids := map[string]types.UID{}
	for _, pod := range list.Items {
		uids[pod.GetName()] = pod.GetUID()
	}
	return uids
}

func hasImage(member, ns, want string) func(context.Context) error {
	return func(ctx context.Context) error {
		u, err := Env.Member(member).Resource(Deployments).Namespace(ns).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if text := fmt.Sprint(u.Object["spec"]); !strings.Contains(text, "image:"+want+" ") {
			return fmt.Errorf("%s has %s", member, text)
		}
		return nil
	}
}

// runs checks that the rollout of an image is complete in a member.
func runs(member, ns, image string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := hasImage(member, ns, image)(ctx); err != nil {
			return err
		}
		u, err := Env.Member(member).Resource(Deployments).Namespace(ns).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for field, want := range map[string]int64{"observedGeneration": u.GetGeneration(), "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2} {
			if got, _, _ := unstructured.NestedInt64(u.Object, "status", field); got != want {
				return fmt.Errorf("%s has %s %d, not %d", member, field, got, want)
			}
		}
		return nil
	}
}
