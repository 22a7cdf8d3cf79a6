package shared

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestRandomTenant has a tenant who may mirror to one member do random things in
// Namespaces of their own and in one that an administrator has fenced, with all verbs and
// on all paths, and with names that collide with other users'. The members are checked:
// nothing of the tenant's is where it must not be, and nothing of other users is changed
// or deleted.
func TestRandomTenant(t *testing.T) {
	lasts, seed := randomTenantFor, uint64(time.Now().UnixNano())
	if text := os.Getenv("TENANT"); text != "" {
		var err error
		lasts, err = time.ParseDuration(text)
		Must(t, err)
	}
	if text := os.Getenv("SEED"); text != "" && text != "0" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		Must(t, err)
	}
	t.Logf("to repeat this: make tenant TENANT=%s SEED=%d", lasts, seed)
	ns := Isolate(t)
	Configure(t, Resources(t, "configmaps", "deployments.apps"))
	StartDaemon(t)
	enforce(t, ns)
	r := &randomTenant{random: rand.New(rand.NewPCG(seed, seed)), client: tenant(t, "random-tenant", Push), done: map[string]int{}}
	r.settleVictims(t, ns)
	for i := range 3 {
		r.makeNamespace(t, fmt.Sprintf("%s-own-%d", ns, i))
	}
	r.fenced = ns + "-fenced"
	makeFenced(t, r.fenced)
	for begun, looked := time.Now(), time.Now(); time.Since(begun) < lasts; {
		r.act(t)
		if time.Since(looked) > 2*time.Second {
			r.look(t)
			looked = time.Now()
		}
	}
	Settle(t)
	r.look(t)
	t.Logf("done: %v", r.done)
	if r.done["allowed"] == 0 || r.done["refused"] == 0 {
		t.Error("nothing was allowed, or nothing was refused")
	}
}

type randomTenant struct {
	random *rand.Rand
	client dynamic.Interface
	own    []string // Namespaces
	fenced string
	// victims are other users' objects in the members, with their UIDs.
	victims map[victim]types.UID
	// targets are other users' objects whose Work names to collide with.
	targets []render.Identity
	done    map[string]int
}

type victim struct{ member, kind, namespace, name string }

// settleVictims makes other users' objects: mirrored ones, one that a policy propagates,
// and their Namespaces.
func (r *randomTenant) settleVictims(t *testing.T, ns string) {
	t.Helper()
	r.victims = map[victim]types.UID{}
	for i := range 3 {
		name := fmt.Sprintf("victim-%d", i)
		Create(t, ConfigMaps, ConfigMap(ns, name, Push+","+Push2, "one"))
		r.targets = append(r.targets, render.Identity{Kind: "ConfigMap", Namespace: ns, Name: name})
	}
	Create(t, ConfigMaps, Plain(ns, "propagated", "one"))
	propagated := render.Identity{Kind: "ConfigMap", Namespace: ns, Name: "propagated"}
	propagate(t, propagated, Push, Push2)
	r.targets = append(r.targets, propagated, render.Identity{Kind: "Namespace", Name: ns})
	for _, member := range []string{Push, Push2} {
		for _, id := range r.targets {
			if id.Kind == "Namespace" {
				r.victims[victim{member, id.Kind, "", id.Name}] = namespaceIn(t, member, id.Name)
				continue
			}
			WantInMembers(t, ns, id.Name, "one", member)
			r.victims[victim{member, id.Kind, ns, id.Name}] = MemberUIDs(t, ns, id.Name, member)[member]
		}
	}
}

// makeFenced makes a Namespace whose default excludes a member.
func makeFenced(t *testing.T, name string) {
	t.Helper()
	u := Object("v1", "Namespace", "", name, nil)
	u.SetLabels(enforced(t))
	u.SetAnnotations(annotations{render.ClustersAnnotation: Push + ",!" + Push2, render.ClusterSelectorAnnotation: everywhere})
	Create(t, Namespaces, u)
	t.Cleanup(func() { _ = Env.Admin.Resource(Namespaces).Delete(context.Background(), name, metav1.DeleteOptions{}) })
}

// everywhere is a selector that matches every cluster.
const everywhere = "!nowhere.example.com/drained"

// maxOwn limits the tenant's Namespaces, because each is in every member.
const maxOwn = 12

func (r *randomTenant) makeNamespace(t *testing.T, name string) {
	t.Helper()
	u := Object("v1", "Namespace", "", name, nil)
	u.SetLabels(enforced(t))
	u.SetAnnotations(r.wishes())
	_, err := r.client.Resource(Namespaces).Create(t.Context(), u, metav1.CreateOptions{})
	r.count(err)
	if err != nil { // the tenant may not ask for these clusters
		u.SetAnnotations(nil)
		_, err = r.client.Resource(Namespaces).Create(t.Context(), u, metav1.CreateOptions{})
		Must(t, err)
	}
	t.Cleanup(func() { _ = Env.Admin.Resource(Namespaces).Delete(context.Background(), name, metav1.DeleteOptions{}) })
	r.own = append(r.own, name)
}

func (r *randomTenant) count(err error) {
	if err == nil {
		r.done["allowed"]++
	} else {
		r.done["refused"]++
	}
}

func (r *randomTenant) pick(values ...string) string { return values[r.random.IntN(len(values))] }

// wishes draws random annotations of ours.
func (r *randomTenant) wishes() annotations {
	a := annotations{
		render.ClustersAnnotation:           r.pick(none, none, "", Push, Push, Push2, Push+","+Push2, "*", "member?,!"+Push2, Push+",!"+Push2, "!"+Push2),
		render.ClusterSelectorAnnotation:    r.pick(none, none, none, everywhere),
		render.SuspendAnnotation:            r.pick(none, none, none, "true", "false"),
		render.PreserveOnDeletionAnnotation: r.pick(none, none, none, "false"),
		render.ConflictResolutionAnnotation: r.pick(none, none, "overwrite", "abort"),
	}
	maps.DeleteFunc(a, func(_, value string) bool { return value == none })
	return a
}

// labels may claim an object for a policy that does not exist.
func (r *randomTenant) labels() map[string]string {
	key := r.pick(none, none, none, "propagationpolicy.karmada.io/permanent-id", "clusterpropagationpolicy.karmada.io/permanent-id", "resourcetemplate.karmada.io/claimed-by", render.ManagedByLabel)
	if key == none {
		return nil
	}
	return map[string]string{key: r.pick("x", render.ManagedByValue)}
}

// act does one random thing.
func (r *randomTenant) act(t *testing.T) {
	t.Helper()
	ns := r.pick(append(slices.Clone(r.own), r.fenced)...)
	name := r.pick("a", "b", "c", "propagated", "victim-0", "victim-1", "victim-2")
	u := Plain(ns, name, r.pick("one", "two", "three"))
	u.SetAnnotations(r.wishes())
	u.SetLabels(r.labels())
	objects, ctx := r.client.Resource(ConfigMaps).Namespace(ns), t.Context()
	var err error
	what := r.pick("create", "create", "update", "update", "merge", "apply", "apply", "remove annotations", "generate", "dry run", "delete", "delete all", "default", "namespace status", "deploy", "status", "scale", "collide")
	switch what {
	case "create":
		_, err = objects.Create(ctx, u, metav1.CreateOptions{})
	case "update":
		_, err = objects.Update(ctx, u, metav1.UpdateOptions{})
	case "merge":
		_, err = objects.Patch(ctx, name, types.MergePatchType, metadataOf(t, u.GetAnnotations(), u.GetLabels()), metav1.PatchOptions{})
	case "apply":
		_, err = objects.Apply(ctx, name, u, metav1.ApplyOptions{FieldManager: r.pick("one", "two"), Force: true})
	case "remove annotations":
		_, err = objects.Patch(ctx, name, types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/annotations"}]`), metav1.PatchOptions{})
	case "generate":
		u.SetName("")
		u.SetGenerateName(name + "-")
		_, err = objects.Create(ctx, u, metav1.CreateOptions{})
	case "dry run":
		_, err = objects.Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	case "delete":
		err = objects.Delete(ctx, name, metav1.DeleteOptions{})
	case "delete all":
		err = objects.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	case "default", "namespace status":
		var path []string
		if what != "default" {
			path = []string{"status"}
		}
		_, err = r.client.Resource(Namespaces).Patch(ctx, ns, types.MergePatchType, metadataOf(t, r.wishes(), nil), metav1.PatchOptions{}, path...)
	case "deploy":
		u = deployment(ns, 1)
		u.SetAnnotations(r.wishes())
		_, err = r.client.Resource(Deployments).Namespace(ns).Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: "one", Force: true})
	case "status", "scale":
		patch := metadataOf(t, r.wishes(), nil)
		if what == "scale" {
			patch = fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"*"}},"spec":{"replicas":%d}}`, render.ClustersAnnotation, r.random.IntN(3))
		}
		_, err = r.client.Resource(Deployments).Namespace(ns).Patch(ctx, "web", types.MergePatchType, patch, metav1.PatchOptions{}, what)
	case "collide":
		if len(r.own) == maxOwn {
			return
		}
		id := Colliding(t, "ConfigMap", r.targets[r.random.IntN(len(r.targets))])
		if slices.Contains(r.own, id.Namespace) {
			return
		}
		r.makeNamespace(t, id.Namespace)
		u.SetNamespace(id.Namespace)
		u.SetName(id.Name)
		_, err = r.client.Resource(ConfigMaps).Namespace(id.Namespace).Create(ctx, u, metav1.CreateOptions{})
	}
	r.done[what]++
	r.count(err)
}

func metadataOf(t *testing.T, a annotations, labels map[string]string) []byte {
	t.Helper()
	metadata := map[string]any{}
	if a != nil {
		metadata["annotations"] = a
	}
	if labels != nil {
		metadata["labels"] = labels
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	Must(t, err)
	return patch
}

// look checks the members.
func (r *randomTenant) look(t *testing.T) {
	t.Helper()
	for _, ns := range append(slices.Clone(r.own), r.fenced) {
		for _, member := range []string{Push2, Pull} {
			if ns == r.fenced && member == Pull { // which its selector matches
				continue
			}
			for _, resource := range []schema.GroupVersionResource{ConfigMaps, Deployments} {
				list, err := Env.Member(member).Resource(resource).Namespace(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "karmada.io/managed=true"})
				Must(t, err)
				for _, u := range list.Items {
					t.Errorf("%s %s/%s is in %s: %v", u.GetKind(), ns, u.GetName(), member, u.GetAnnotations())
				}
			}
		}
	}
	for v, uid := range r.victims {
		resource := ConfigMaps
		if v.kind == "Namespace" {
			resource = Namespaces
		}
		u, err := Env.Member(v.member).Resource(resource).Namespace(v.namespace).Get(t.Context(), v.name, metav1.GetOptions{})
		switch {
		case err != nil:
			t.Errorf("%v: %v", v, err)
		case u.GetUID() != uid || u.GetDeletionTimestamp() != nil:
			t.Errorf("%v was deleted and recreated, or is being deleted", v)
		case v.kind == "ConfigMap" && value(u) != "one":
			t.Errorf("%v was changed: %q", v, value(u))
		}
	}
	if t.Failed() {
		t.Fatalf("after %v", r.done)
	}
}

func value(u *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(u.Object, "data", "key")
	return text
}
