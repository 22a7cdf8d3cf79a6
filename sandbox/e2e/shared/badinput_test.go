package shared

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestBadAnnotations: each mistake is reported by an Event and counted, and deletes
// nothing that was mirrored before.
func TestBadAnnotations(t *testing.T) {
	ns := Isolate(t)
	cases := map[string]struct{ value, reason string }{
		"empty":      {"", "InvalidAnnotation"},
		"commas":     {",,,", "InvalidAnnotation"},
		"spaces":     {"   ", "InvalidAnnotation"},
		"many":       {strings.Repeat("a,", 9999) + "a", "InvalidAnnotation"},
		"upper-case": {"Member1", "InvalidAnnotation"},
		"path":       {"../member1", "InvalidAnnotation"},
		"unicode":    {"mémber1", "InvalidAnnotation"},
		"huge":       {strings.Repeat("x", 250<<10), "InvalidAnnotation"},
		"unknown":    {Both + ",no-such-cluster", "UnknownCluster"},
	}
	d := StartDaemon(t)
	for name := range cases {
		Create(t, ConfigMaps, ConfigMap(ns, name, Both, "one"))
	}
	for name := range cases {
		WantInMembers(t, ns, name, "one", Push, Pull)
	}
	audit := AuditFromNow(t)
	for name, c := range cases {
		Change(t, ConfigMaps, ns, name, SetAnnotation(render.ClustersAnnotation, c.value))
	}
	for name, c := range cases {
		WantEvent(t, ns, name, c.reason)
	}
	Eventually(t, "the refusals in the metrics", d.WantMetric(`karmada_mirror_refused_sources{reason="InvalidAnnotation"}`, float64(len(cases)-1)))
	Eventually(t, "the warning in the metrics", d.WantMetric(`karmada_mirror_refused_sources{reason="UnknownCluster"}`, 1))
	Settle(t)
	if writes := audit.Writes(t); len(writes) > 0 {
		t.Errorf("after bad annotations the daemon wrote %v", writes)
	}
	for name := range cases {
		WantInMembers(t, ns, name, "one", Push, Pull)
	}
	Create(t, ConfigMaps, ConfigMap(ns, "another", Both, "one"))
	WantInMembers(t, ns, "another", "one", Push, Pull)
}

// TestRefusedSources tests sources that belong to other owners.
func TestRefusedSources(t *testing.T) {
	ns := Isolate(t)
	Configure(t, strings.Replace(Resources(t, "configmaps"), "namespaces: [", `namespaces: ["`+System+`", `, 1))
	StartDaemon(t)
	claimed := ConfigMap(ns, "claimed", Both, "one")
	claimed.SetLabels(map[string]string{"propagationpolicy.karmada.io/permanent-id": "0"})
	Create(t, ConfigMaps, claimed)
	WantEvent(t, ns, "claimed", "ClaimedByPolicy", "propagates this object: remove either the policy or the annotation")

	Create(t, ConfigMaps, ConfigMap(System, "reserved", Both, "one"))
	t.Cleanup(func() {
		_ = Env.Admin.Resource(ConfigMaps).Namespace(System).Delete(context.Background(), "reserved", metav1.DeleteOptions{})
	})
	WantEvent(t, System, "reserved", "ReservedNamespace")
	for _, name := range []types.NamespacedName{
		ConfigMapWork(ns, "claimed", Push), ConfigMapWork(ns, "claimed", Pull), ConfigMapWork(System, "reserved", Push), ConfigMapWork(System, "reserved", Pull),
	} {
		if work, err := GetWork(t.Context(), name); !apierrors.IsNotFound(err) {
			t.Errorf("a refused source has a Work: %v, %v", work, err)
		}
	}

	// Another owner's Work has the name that ours would have.
	name := ConfigMapWork(ns, "taken", Push)
	foreign := Object("work.karmada.io/v1alpha1", "Work", name.Namespace, name.Name, map[string]any{
		"spec": map[string]any{"suspendDispatching": true, "workload": map[string]any{"manifests": []any{
			ConfigMap(ns, "taken", "", "theirs").Object,
		}}},
	})
	before := Create(t, Works, foreign)
	Create(t, ConfigMaps, ConfigMap(ns, "taken", Both, "one"))
	WantEvent(t, ns, "taken", "WorkConflict")
	WantInMembers(t, ns, "taken", "one", Pull)
	now := MustWork(t, name) // Karmada may have reported its status
	if now.GetGeneration() != before.GetGeneration() || len(now.GetFinalizers()) > 0 || now.GetAnnotations()[render.SourceAnnotation] != "" {
		t.Error("the daemon wrote to another owner's Work")
	}
	Remove(t, Works, name.Namespace, name.Name)
}

// shapes are custom kinds with the names of built-in ones.
var shapes = map[string]map[string]any{
	"Job":            {"spec": map[string]any{"selector": "a string", "template": []any{"a", "list"}, "manualSelector": "maybe"}},
	"Secret":         {"type": "kubernetes.io/service-account-token", "data": "a string"},
	"Service":        {"spec": map[string]any{"clusterIP": int64(7)}},
	"ServiceAccount": {"secrets": []any{"a", int64(1)}},
}

const shapeDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.shapes.example.com}
spec:
  group: shapes.example.com
  scope: Namespaced
  names: {kind: %[2]s, plural: %[1]s, singular: %[3]s}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: karmada-mirror-shapes
  labels: {rbac.karmada.target/aggregate-to-karmada-mirror: "true"}
rules:
- {apiGroups: [shapes.example.com], resources: ["*"], verbs: [get, list, watch]}
`

func TestOddShapes(t *testing.T) {
	ns := Isolate(t)
	var plurals []string
	for kind := range shapes {
		singular := strings.ToLower(kind)
		plural := singular + "s"
		definition := fmt.Sprintf(shapeDefinition, plural, kind, singular)
		if err := karmada.Apply(t.Context(), Env.Config(), []byte(definition)); err != nil {
			t.Fatal(err)
		}
		plurals = append(plurals, plural+".shapes.example.com")
		t.Cleanup(func() {
			_ = Env.Admin.Resource(Definitions).Delete(context.Background(), plural+".shapes.example.com", metav1.DeleteOptions{})
		})
	}
	Configure(t, Resources(t, append(plurals, "configmaps")...))
	d := StartDaemon(t)
	for kind, fields := range shapes {
		gvr := schema.GroupVersionResource{Group: "shapes.example.com", Version: "v1", Resource: strings.ToLower(kind) + "s"}
		u := Object("shapes.example.com/v1", kind, ns, "odd-"+strings.ToLower(kind), fields)
		u.SetAnnotations(map[string]string{render.ClustersAnnotation: Both})
		Eventually(t, "an odd "+kind, func(ctx context.Context) error {
			_, err := Env.Admin.Resource(gvr).Namespace(ns).Create(ctx, u, metav1.CreateOptions{})
			return err
		})
	}
	// Objects that Karmada's webhook cannot parse are reported; the others have their
	// Works.
	WantEvent(t, ns, "odd-job", "RenderFailed")
	WantEvent(t, ns, "odd-serviceaccount", "RenderFailed")
	for _, kind := range []string{"Secret", "Service"} {
		id := render.Identity{Group: "shapes.example.com", Kind: kind, Namespace: ns, Name: "odd-" + strings.ToLower(kind)}
		Eventually(t, "the Work of an odd "+kind, func(ctx context.Context) error {
			_, err := Env.Admin.Resource(Works).Namespace(render.ExecutionNamespace(Push)).Get(ctx, id.WorkName(), metav1.GetOptions{})
			return err
		})
	}
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	WantInMembers(t, ns, "page", "one", Push, Pull)
	if n := d.Logged("admission alters the Work that is written: not writing it again"); n > 0 {
		t.Errorf("the changes by Karmada's webhook were taken for another webhook's %d times", n)
	}
}

func TestLongNamesAndLargeObjects(t *testing.T) {
	ns := Isolate(t)
	if err := karmada.Apply(t.Context(), Env.Config(), fmt.Appendf(nil, shapeDefinition, "blobs", "Blob", "blob")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = Env.Admin.Resource(Definitions).Delete(context.Background(), "blobs.shapes.example.com", metav1.DeleteOptions{})
	})
	Configure(t, Resources(t, "blobs.shapes.example.com", "configmaps"))
	StartDaemon(t)
	long := strings.Repeat("a", 253)
	Create(t, ConfigMaps, ConfigMap(ns, long, Both, "one"))
	WantEvent(t, ns, long, "RenderFailed")

	blobs := schema.GroupVersionResource{Group: "shapes.example.com", Version: "v1", Resource: "blobs"}
	for name, size := range map[string]int{"large": 1_400_000, "too-large": 1_571_800} {
		u := Object("shapes.example.com/v1", "Blob", ns, name, map[string]any{"spec": strings.Repeat("x", size)})
		u.SetAnnotations(map[string]string{render.ClustersAnnotation: Push})
		Eventually(t, "a Blob of "+fmt.Sprint(size), func(ctx context.Context) error {
			_, err := Env.Admin.Resource(blobs).Namespace(ns).Create(ctx, u, metav1.CreateOptions{})
			return err
		})
	}
	id := render.Identity{Group: "shapes.example.com", Kind: "Blob", Namespace: ns, Name: "large"}
	Eventually(t, "the Work of 1.4 MB", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(Works).Namespace(render.ExecutionNamespace(Push)).Get(ctx, id.WorkName(), metav1.GetOptions{})
		return err
	})
	WantEvent(t, ns, "too-large", "TooLarge")
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	WantInMembers(t, ns, "page", "one", Push, Pull)
}
