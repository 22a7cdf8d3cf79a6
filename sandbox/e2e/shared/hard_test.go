package shared

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// altered is logged once for each Work that comes back otherwise than it was written.
const altered = "admission alters the Work that is written: not writing it again"

// shapes is the group of custom kinds with any content, some with the names of built-in ones.
const shapes = "shapes.example"

// TestHardObjects mirrors objects that are hard to process, together with an ordinary one:
// those that etcd or Karmada's webhook does not accept as a Work are reported, the others
// arrive.
func TestHardObjects(t *testing.T) {
	t.Parallel()
	ns := NewNamespace(t)
	for _, kind := range []string{"Blob", "Job"} {
		definition := fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.%[3]s}
spec:
  group: %[3]s
  scope: Namespaced
  names: {kind: %[2]s, plural: %[1]ss, singular: %[1]s}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, strings.ToLower(kind), kind, shapes)
		Must(t, karmada.Apply(t.Context(), Env.Config(), definition))
		Must(t, karmada.Apply(t.Context(), Env.MemberConfig(Push), definition))
	}
	Must(t, karmada.Apply(t.Context(), Env.Config(), []byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: karmada-mirror-shapes, labels: {rbac.karmada.target/aggregate-to-karmada-mirror: "true"}}
rules:
- {apiGroups: [`+shapes+`], resources: ["*"], verbs: [get, list, watch]}
`)))
	deep := any("bottom")
	for range 2000 {
		deep = map[string]any{"d": deep}
	}
	many := map[string]any{}
	for i := range 10_000 {
		many[fmt.Sprintf("key \u2028 %d", i)] = []any{int64(i), nil, true, ""}
	}
	sized := func(n int) map[string]any { return map[string]any{"content": strings.Repeat("x", n)} }
	cases := map[string]struct {
		kind   string
		fields map[string]any
		// refused is the reason of an Event; empty if the object arrives.
		refused string
	}{
		"deep":      {"Blob", map[string]any{"content": deep}, ""},
		"many-keys": {"Blob", map[string]any{"content": many}, ""},
		"numbers":   {"Blob", map[string]any{"content": []any{"1e400", math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1), int64(math.MaxInt64), int64(math.MinInt64)}}, ""},
		"a-work":    {"Blob", map[string]any{"content": map[string]any{"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": "none"}}, ""},
		"large":     {"Blob", sized(1_400_000), ""},
		// The source is just stored, and its Work is a little larger (etcd accepts 1.5 MiB).
		"too-large": {"Blob", sized(1_571_800), "TooLarge"},
		// Karmada's webhook takes a kind for a built-in one by its name alone.
		"odd-job": {"Job", map[string]any{"spec": map[string]any{"selector": "a string", "template": []any{"a", "list"}, "manualSelector": "maybe"}}, "RenderFailed"},
	}
	before, audit := Env.Mirror.Logged(altered), AuditFromNow(t)
	for name, c := range cases {
		u := Asking(Object(shapes+"/v1", c.kind, ns, name, c.fields), Push)
		Eventually(t, name+" to be stored", func(ctx context.Context) error {
			_, err := Env.Admin.Resource(shape(c.kind)).Namespace(ns).Create(ctx, u, metav1.CreateOptions{})
			return err
		})
	}
	long := strings.Repeat("a", 253) // a Work's name is longer than its object's
	Create(t, ConfigMaps, ConfigMap(ns, long, Push, "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push, "one"))
	WantInMembers(t, ns, "page", "one", Push)
	WantEvent(t, ns, long, "RenderFailed")
	for name, c := range cases {
		if c.refused != "" {
			WantEvent(t, ns, name, c.refused)
			continue
		}
		Eventually(t, name+" in the member", func(ctx context.Context) error {
			_, err := Env.Member(Push).Resource(shape(c.kind)).Namespace(ns).Get(ctx, name, metav1.GetOptions{})
			return err
		})
	}
	if n := Env.Mirror.Logged(altered) - before; n > 0 {
		t.Errorf("the changes by Karmada's webhook were taken for another webhook's %d times", n)
	}
	// It sweeps every 3 s, and must not send the same bytes again.
	Settle(t)
	tooLarge := WorkOf(render.Identity{Group: shapes, Kind: "Blob", Namespace: ns, Name: "too-large"}, Push)
	tried := 0
	for _, r := range audit.Requests(t) {
		if r.Verb == "create" && r.ObjectRef.Resource == Works.Resource && r.ObjectRef.Name == tooLarge.Name && !strings.Contains(r.ResponseStatus.Message, "calling webhook") { // which may not answer in time
			tried++
		}
	}
	if tried != 1 {
		t.Errorf("the Work that is too large was sent %d times", tried)
	}
	Must(t, Env.Mirror.Probe(t.Context(), "/livez"))
}

// shape is the resource of a custom kind.
func shape(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: shapes, Version: "v1", Resource: strings.ToLower(kind) + "s"}
}

// autoscaler makes an HPA for the Deployment web.
func autoscaler(ns string) *unstructured.Unstructured {
	return Object("autoscaling/v2", "HorizontalPodAutoscaler", ns, "web", map[string]any{"spec": map[string]any{
		"maxReplicas": int64(9), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
	}})
}
