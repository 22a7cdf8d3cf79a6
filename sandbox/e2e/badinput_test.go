package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// TestBadAnnotations: each is told by an Event and counted, and deletes nothing
// of what was mirrored before.
func TestBadAnnotations(t *testing.T) {
	cases := map[string]struct{ value, reason string }{
		"empty":      {"", "InvalidAnnotation"},
		"commas":     {",,,", "InvalidAnnotation"},
		"spaces":     {"   ", "InvalidAnnotation"},
		"many":       {strings.Repeat("a,", 9999) + "a", "InvalidAnnotation"},
		"upper-case": {"Member1", "InvalidAnnotation"},
		"path":       {"../member1", "InvalidAnnotation"},
		"unicode":    {"mémber1", "InvalidAnnotation"},
		"huge":       {strings.Repeat("x", 250<<10), "InvalidAnnotation"},
		"unknown":    {both + ",no-such-cluster", "UnknownCluster"},
	}
	d := startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	for name := range cases {
		create(t, configMaps, configMap(ns, name, both, "one"))
	}
	for name := range cases {
		wantInMembers(t, ns, name, "one", push, pull)
	}
	audit := auditFromNow(t)
	for name, c := range cases {
		change(t, configMaps, ns, name, setAnnotation(render.ClustersAnnotation, c.value))
	}
	for name, c := range cases {
		wantEvent(t, ns, name, c.reason)
	}
	eventually(t, "the refusals in the metrics", d.wantMetric(`karmada_mirror_refused_sources{reason="InvalidAnnotation"}`, fmt.Sprint(len(cases)-1)))
	eventually(t, "the warning in the metrics", d.wantMetric(`karmada_mirror_refused_sources{reason="UnknownCluster"}`, "1"))
	if writes := audit.writes(t); len(writes) > 0 {
		t.Errorf("bad annotations made the daemon write %v", writes)
	}
	for name := range cases {
		wantInMembers(t, ns, name, "one", push, pull)
	}
	create(t, configMaps, configMap(ns, "another", both, "one"))
	wantInMembers(t, ns, "another", "one", push, pull)
}

// TestRefusedSources: sources that belong to others.
func TestRefusedSources(t *testing.T) {
	startDaemon(t)
	ns := newNamespace(t)
	claimed := configMap(ns, "claimed", both, "one")
	claimed.SetLabels(map[string]string{"propagationpolicy.karmada.io/permanent-id": "0"})
	create(t, configMaps, claimed)
	wantEvent(t, ns, "claimed", "ClaimedByPolicy")

	create(t, configMaps, configMap(system, "reserved", both, "one"))
	t.Cleanup(func() {
		_ = env.admin.Resource(configMaps).Namespace(system).Delete(context.Background(), "reserved", metav1.DeleteOptions{})
	})
	wantEvent(t, system, "reserved", "ReservedNamespace")

	// A Work of somebody else stands where ours would be.
	name := configMapWork(ns, "taken", push)
	foreign := object("work.karmada.io/v1alpha1", "Work", name.Namespace, name.Name, map[string]any{
		"spec": map[string]any{"suspendDispatching": true, "workload": map[string]any{"manifests": []any{
			configMap(ns, "taken", "", "theirs").Object,
		}}},
	})
	before := create(t, works, foreign)
	create(t, configMaps, configMap(ns, "taken", both, "one"))
	wantEvent(t, ns, "taken", "WorkConflict")
	wantInMembers(t, ns, "taken", "one", pull)
	now := mustWork(t, name) // Karmada may have reported its status
	if now.GetGeneration() != before.GetGeneration() || len(now.GetFinalizers()) > 0 || now.GetAnnotations()[render.SourceAnnotation] != "" {
		t.Error("the Work of somebody else was written to")
	}
	remove(t, works, name.Namespace, name.Name)
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
	var plurals []string
	for kind := range shapes {
		singular := strings.ToLower(kind)
		plural := singular + "s"
		definition := fmt.Sprintf(shapeDefinition, plural, kind, singular)
		if err := karmada.Apply(t.Context(), env.Config(), []byte(definition)); err != nil {
			t.Fatal(err)
		}
		plurals = append(plurals, plural+".shapes.example.com")
		t.Cleanup(func() {
			_ = env.admin.Resource(crds).Delete(context.Background(), plural+".shapes.example.com", metav1.DeleteOptions{})
		})
	}
	configure(t, resources(append(plurals, "configmaps")...))
	d := startDaemon(t)
	ns := newNamespace(t)
	for kind, fields := range shapes {
		gvr := schema.GroupVersionResource{Group: "shapes.example.com", Version: "v1", Resource: strings.ToLower(kind) + "s"}
		u := object("shapes.example.com/v1", kind, ns, "odd-"+strings.ToLower(kind), fields)
		u.SetAnnotations(map[string]string{render.ClustersAnnotation: both})
		eventually(t, "an odd "+kind, func(ctx context.Context) error {
			_, err := env.admin.Resource(gvr).Namespace(ns).Create(ctx, u, metav1.CreateOptions{})
			return err
		})
	}
	// What Karmada's webhook cannot parse is told; the others have their Works.
	wantEvent(t, ns, "odd-job", "RenderFailed")
	wantEvent(t, ns, "odd-serviceaccount", "RenderFailed")
	for _, kind := range []string{"Secret", "Service"} {
		id := render.Identity{Group: "shapes.example.com", Kind: kind, Namespace: ns, Name: "odd-" + strings.ToLower(kind)}
		eventually(t, "the Work of an odd "+kind, func(ctx context.Context) error {
			_, err := env.admin.Resource(works).Namespace(render.ExecutionNamespace(push)).Get(ctx, id.WorkName(), metav1.GetOptions{})
			return err
		})
	}
	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
	if n := d.logged("admission alters what is written: leaving it at that"); n > 0 {
		t.Errorf("the webhook's changes were taken for somebody else's %d times", n)
	}
}

func TestLongNamesAndLargeObjects(t *testing.T) {
	if err := karmada.Apply(t.Context(), env.Config(), fmt.Appendf(nil, shapeDefinition, "blobs", "Blob", "blob")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = env.admin.Resource(crds).Delete(context.Background(), "blobs.shapes.example.com", metav1.DeleteOptions{})
	})
	configure(t, resources("blobs.shapes.example.com", "configmaps"))
	startDaemon(t)
	ns := newNamespace(t)
	long := strings.Repeat("a", 253)
	create(t, configMaps, configMap(ns, long, both, "one"))
	wantEvent(t, ns, long, "RenderFailed")

	blobs := schema.GroupVersionResource{Group: "shapes.example.com", Version: "v1", Resource: "blobs"}
	for name, size := range map[string]int{"large": 1_400_000, "too-large": 1_571_800} {
		u := object("shapes.example.com/v1", "Blob", ns, name, map[string]any{"spec": strings.Repeat("x", size)})
		u.SetAnnotations(map[string]string{render.ClustersAnnotation: push})
		eventually(t, "a Blob of "+fmt.Sprint(size), func(ctx context.Context) error {
			_, err := env.admin.Resource(blobs).Namespace(ns).Create(ctx, u, metav1.CreateOptions{})
			return err
		})
	}
	id := render.Identity{Group: "shapes.example.com", Kind: "Blob", Namespace: ns, Name: "large"}
	eventually(t, "the Work of 1.4 MB", func(ctx context.Context) error {
		_, err := env.admin.Resource(works).Namespace(render.ExecutionNamespace(push)).Get(ctx, id.WorkName(), metav1.GetOptions{})
		return err
	})
	wantEvent(t, ns, "too-large", "TooLarge")
	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
}
