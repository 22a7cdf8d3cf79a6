package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

var (
	policies = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "propagationpolicies"}
	bindings = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "resourcebindings"}
)

// memberUIDs are the UIDs of a ConfigMap in members.
func memberUIDs(t *testing.T, namespace, name string, members ...string) map[string]types.UID {
	t.Helper()
	uids := map[string]types.UID{}
	for _, member := range members {
		u, err := env.members[member].Resource(configMaps).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		uids[member] = u.GetUID()
	}
	return uids
}

// holder says by whom a Work is held: "mirror", "binding", both or nobody.
func holder(w *unstructured.Unstructured) string {
	held := ""
	if w.GetLabels()[render.ManagedByLabel] == render.ManagedByValue && w.GetAnnotations()[render.SourceAnnotation] != "" {
		held += "mirror"
	}
	if w.GetLabels()[workv1alpha2.ResourceBindingPermanentIDLabel] != "" {
		held += "binding"
	}
	return held
}

func wantHolder(t *testing.T, namespace, name, cluster, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the Work of %s on %s to be held by %q", name, cluster, want), func(ctx context.Context) error {
		w, err := getWork(ctx, configMapWork(namespace, name, cluster))
		if err == nil && holder(w) != want {
			err = fmt.Errorf("it is held by %q", holder(w))
		}
		return err
	})
}

// TestHandover has a policy take a mirrored source over on one of its two
// clusters, and give it back. Nothing is deleted in a member at any time.
func TestHandover(t *testing.T) {
	startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	create(t, configMaps, configMap(ns, "page", push+","+push2, "one"))
	wantInMembers(t, ns, "page", "one", push, push2)
	uids := memberUIDs(t, ns, "page", push, push2)
	works := map[string]types.UID{}
	for _, cluster := range []string{push, push2} {
		works[cluster] = mustWork(t, configMapWork(ns, "page", cluster)).GetUID()
	}
	f := newFault(t, "A policy claims a mirrored source and goes; its binding stays, then goes", ns)
	f.note = "the objects in the members keep their UIDs"

	policy := object("policy.karmada.io/v1alpha1", "PropagationPolicy", ns, "pages", map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "page"}},
		"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{push}}},
	}})
	create(t, policies, policy)
	wantHolder(t, ns, "page", push, "binding")
	wantHolder(t, ns, "page", push2, "")
	wantEvent(t, ns, "page", "ClaimedByPolicy")
	change(t, configMaps, ns, "page", setField("two", "data", "key"))
	wantInMembers(t, ns, "page", "two", push)
	wantInMembers(t, ns, "page", "one", push2)

	remove(t, policies, ns, "pages")
	wantHolder(t, ns, "page", push, "mirror")
	wantHolder(t, ns, "page", push2, "mirror")
	change(t, configMaps, ns, "page", setField("three", "data", "key"))
	wantInMembers(t, ns, "page", "three", push, push2)

	// A binding that its policy left behind takes the Work again at every restart.
	audit := auditFromNow(t)
	mustRestart(t, karmada.ControllerManager)
	eventually(t, "the binding to take the Work", func(context.Context) error {
		return audit.wrote(t, karmada.ControllerManager, configMapWork(ns, "page", push))
	})
	change(t, configMaps, ns, "page", setField("four", "data", "key"))
	wantInMembers(t, ns, "page", "four", push, push2)
	wantHolder(t, ns, "page", push, "mirror")

	remove(t, bindings, ns, "page-configmap")
	eventually(t, "the binding to go", func(ctx context.Context) error {
		_, err := env.admin.Resource(bindings).Namespace(ns).Get(ctx, "page-configmap", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %v", err)
	})
	change(t, configMaps, ns, "page", setField("five", "data", "key"))
	f.heal()
	wantInMembers(t, ns, "page", "five", push, push2)
	f.converge(patience)
	for cluster, uid := range memberUIDs(t, ns, "page", push, push2) {
		if uid != uids[cluster] {
			t.Errorf("the object in %s was deleted and made again", cluster)
		}
		if got := mustWork(t, configMapWork(ns, "page", cluster)).GetUID(); got != works[cluster] {
			t.Errorf("the Work on %s was deleted and made again", cluster)
		}
	}
}

// TestHandoverForGood goes over to a policy in one step: the annotation goes as the
// policy comes.
func TestHandoverForGood(t *testing.T) {
	startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	ids := createPages(t, ns, push, 10)
	wantSources(t, ns)
	wantInMembers(t, ns, "page-0", "one", push)
	uids := memberUIDs(t, ns, "page-0", push)
	f := newFault(t, "A policy comes and the annotations go at once", ns)
	f.note = "the Works are the policy's, the objects in the members keep their UIDs"
	create(t, policies, object("policy.karmada.io/v1alpha1", "PropagationPolicy", ns, "pages", map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}},
		"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{push}}},
	}}))
	for _, id := range ids {
		change(t, configMaps, ns, id.Name, func(u *unstructured.Unstructured) { u.SetAnnotations(nil) })
	}
	f.heal()
	for _, id := range ids {
		wantHolder(t, ns, id.Name, push, "binding")
	}
	f.converge(patience)
	if diff := cmp.Diff(uids, memberUIDs(t, ns, "page-0", push)); diff != "" {
		t.Errorf("the object in the member was deleted and made again:\n%s", diff)
	}
	remove(t, policies, ns, "pages")
}

// testForgedLabel puts our label, and more, on Works of somebody else.
func testForgedLabel(t *testing.T) {
	ns := newNamespace(t)
	startDaemon(t, slice(t, ns)...)
	cases := map[string]forgery{
		"LabelOnly":      {labels: true},
		"IdentityOfMore": {labels: true, identity: true},
		"Binding":        {taken: true, labels: true, identity: true, owner: workv1alpha2.ResourceBindingPermanentIDLabel},
		"Quota":          {taken: true, labels: true, identity: true, owner: "federatedresourcequota.karmada.io/name"},
		"NoIdentity":     {taken: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			page := strings.ToLower(name)
			id := render.Identity{Kind: "ConfigMap", Namespace: ns, Name: page}
			work := types.NamespacedName{Namespace: render.ExecutionNamespace(push), Name: "forged-" + page}
			if tc.taken {
				work.Name = id.WorkName()
			}
			f := newFault(t, "Our label forged on a foreign Work: "+name, ns)
			f.known = map[string]bool{work.String(): true}
			f.only([]render.Identity{id}, push)
			if !tc.taken { // then there is one of our own as well
				f.allow(id, push)
			}
			foreign := create(t, works, forgedWork(work, id, tc))
			untouched := func() {
				t.Helper()
				after, err := getWork(t.Context(), work)
				if err != nil || after.GetUID() != foreign.GetUID() || after.GetGeneration() != foreign.GetGeneration() {
					t.Errorf("the foreign Work was touched: %v, %v", after, err)
				}
			}
			mirrored := func() {
				t.Helper()
				create(t, configMaps, configMap(ns, page, push, "one"))
				if tc.taken {
					wantEvent(t, ns, page, "WorkConflict", work.Name)
				} else {
					mustWork(t, configMapWork(ns, page, push))
				}
				untouched()
			}
			mirrored()
			remove(t, configMaps, ns, page)
			pass(t, 3*time.Second) // for longer than a deletion takes to settle nobody wants it
			untouched()
			mirrored()
			remove(t, works, work.Namespace, work.Name)
			f.heal()
			if tc.taken {
				f.note = "served once the foreign Work is gone; looked at every 30 s at least"
			}
			f.converge(patience)
		})
	}
}

// forgery is what is forged on a Work of somebody else.
type forgery struct {
	taken bool   // the Work bears the name that ours would have
	owner string // a label of somebody else's; empty for none
	// labels and identity of our Works are on it.
	labels, identity bool
}

func forgedWork(name types.NamespacedName, id render.Identity, f forgery) *unstructured.Unstructured {
	work := object("work.karmada.io/v1alpha1", "Work", name.Namespace, name.Name, map[string]any{
		"spec": map[string]any{"workload": map[string]any{"manifests": []any{map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": "foreign"},
		}}}},
	})
	labels := map[string]string{}
	if f.labels {
		labels[render.ManagedByLabel], labels[render.SourceIDLabel] = render.ManagedByValue, id.ID()
	}
	if f.owner != "" {
		labels[f.owner] = "x"
	}
	work.SetLabels(labels)
	if f.identity {
		work.SetAnnotations(map[string]string{render.SourceAnnotation: id.String(), render.SourceUIDAnnotation: "x"})
	}
	return work
}

// TestTwoSourcesOneWork: a Work's name leaves out the group.
func TestTwoSourcesOneWork(t *testing.T) {
	blobs, others := installBlobs(t, "one.example"), installBlobs(t, "two.example")
	configure(t, resources(blobs.GroupResource().String(), others.GroupResource().String()))
	startDaemon(t)
	ns := newNamespace(t)
	f := newFault(t, "Two sources that map to one Work; the first goes", ns, blobs, others)
	name := types.NamespacedName{
		Namespace: render.ExecutionNamespace(push),
		Name:      render.Identity{Group: "one.example", Kind: "Blob", Namespace: ns, Name: "x"}.WorkName(),
	}
	create(t, blobs, blob("one.example", ns, "x", push, "one"))
	first := mustWork(t, name)
	create(t, others, blob("two.example", ns, "x", push, "two"))
	wantEvent(t, ns, "x", "WorkConflict")
	if again := mustWork(t, name); again.GetGeneration() != first.GetGeneration() || again.GetUID() != first.GetUID() {
		t.Error("the second has touched the Work of the first")
	}
	f.allow(render.Identity{Group: "one.example", Kind: "Blob", Namespace: ns, Name: "x"}, push)
	remove(t, blobs, ns, "x")
	f.heal()
	f.converge(patience)
	if source := mustWork(t, name).GetAnnotations()[render.SourceAnnotation]; source != "Blob.two.example/"+ns+"/x" {
		t.Errorf("the Work carries %s", source)
	}
	remove(t, others, ns, "x")
	f.allow(render.Identity{Group: "two.example", Kind: "Blob", Namespace: ns, Name: "x"}, push)
	eventually(t, "the Work to go", func(ctx context.Context) error { return disagreement(ctx, ns, blobs, others) })
}

// installBlobs installs a custom resource that takes any content, on Karmada and
// one member, and lets the daemon read it.
func installBlobs(t *testing.T, group string) schema.GroupVersionResource {
	t.Helper()
	gvr := applyBlobs(t, group, "")
	t.Cleanup(func() {
		_ = env.admin.Resource(crds).Delete(context.Background(), gvr.GroupResource().String(), metav1.DeleteOptions{})
	})
	eventually(t, "the resource to be served", func(ctx context.Context) error {
		_, err := env.admin.Resource(gvr).List(ctx, metav1.ListOptions{})
		return err
	})
	return gvr
}

// applyBlobs adds a piece of YAML to the definition's spec.
func applyBlobs(t *testing.T, group, more string) schema.GroupVersionResource {
	t.Helper()
	definition := fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: blobs.%[1]s}
spec:
  group: %[1]s
  names: {kind: Blob, listKind: BlobList, plural: blobs, singular: blob}
  scope: Namespaced
%[2]s
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, group, more)
	rights := fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: blobs.%[1]s
  labels: {rbac.karmada.target/aggregate-to-karmada-mirror: "true"}
rules:
- {apiGroups: [%[1]s], resources: [blobs], verbs: [get, list, watch]}
`, group)
	// The API server prefers the newer version, and so does the daemon.
	gvr := schema.GroupVersionResource{Group: group, Version: "v2", Resource: "blobs"}
	for _, text := range []string{definition, rights} {
		if err := karmada.Apply(t.Context(), env.Config(), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := karmada.Apply(t.Context(), env.MemberConfig(push), []byte(definition)); err != nil {
		t.Fatal(err)
	}
	return gvr
}

func blob(group, namespace, name, clusters string, content any) *unstructured.Unstructured {
	u := object(group+"/v2", "Blob", namespace, name, map[string]any{"content": content})
	u.SetAnnotations(map[string]string{render.ClustersAnnotation: clusters})
	return u
}
