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
// Namespaces of their own, in one that an administrator has fenced, and in one with
// administrators' objects, with all verbs and on all paths, and with names that collide
// with other users', of objects that exist and of those that come later. The members are
// checked: nothing of the tenant's is where it must not be, and nothing of other users is
// changed or deleted.
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
	r := &randomTenant{
		random: rand.New(rand.NewPCG(seed, seed)), client: tenant(t, Home(t)+"-tenant", Push),
		others: newOthers(t, ns), fenced: ns + "-fenced", done: map[string]int{},
	}
	r.settle(t, ns)
	rounds := max(3, int(lasts/time.Minute))
	for range rounds {
		r.actFor(t, lasts/time.Duration(rounds))
		r.others.generate(t)
	}
	Settle(t)
	r.look(t)
	t.Logf("done: %v", r.done)
	if r.done["allowed"] == 0 || r.done["refused"] == 0 {
		t.Error("nothing was allowed, or nothing was refused")
	}
	r.others.finish(t)
}

type randomTenant struct {
	random *rand.Rand
	client dynamic.Interface
	// own are the tenant's Namespaces, of which the first stay; left are those that they
	// have deleted.
	own, left []string
	fenced    string
	// squats are objects whose Works have the same names as other users'.
	squats []render.Identity
	others *others
	done   map[string]int
}

// lasting is how many of the tenant's Namespaces stay.
const lasting = 2

// settle makes the Namespaces that stay, in which the other members have objects that no
// one mirrors.
func (r *randomTenant) settle(t *testing.T, ns string) {
	t.Helper()
	makeGuarded(t, r.fenced, enforced(t), annotations{render.ClustersAnnotation: Push + ",!" + Push2, render.ClusterSelectorAnnotation: everywhere})
	for i := range lasting {
		r.makeNamespace(t, fmt.Sprintf("%s-own-%d", ns, i))
	}
	if len(r.own) != lasting {
		t.Fatalf("the tenant has the Namespaces %v", r.own)
	}
	for _, namespace := range append(slices.Clone(r.own), r.fenced) {
		namespaceIn(t, Push2, namespace)
		for _, name := range []string{"a", "b"} {
			r.others.occupy(t, Push2, namespace, name)
		}
	}
}

// everywhere is a selector that matches every cluster.
const everywhere = "!nowhere.example.com/drained"

// maxOwn limits the tenant's Namespaces, because each is in every member.
const maxOwn = 12

// makeNamespace has the tenant make a Namespace, with a default if they may.
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
		r.count(err)
	}
	if err != nil { // one of that name is still being deleted
		return
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
		render.SuspendAnnotation:            r.pick(none, none, none, none, "true", "false", Push, Push2, "*,!"+Push2),
		render.PreserveOnDeletionAnnotation: r.pick(none, none, none, "true", "false"),
		render.ConflictResolutionAnnotation: r.pick(none, none, "overwrite", "abort"),
		render.ReplicasAnnotation:           r.pick(none, none, none, none, "retain", "divide", noReplicas),
		render.DeletionAnnotation:           r.pick(none, none, none, none, "foreground", "background", "x"),
		render.ExpandAnnotation:             r.pick(none, none, none, "true", "false"),
		render.WavesAnnotation:              r.pick(none, none, none, none, Push, Push2+"(1);*", "*(50%)", "!"+Push2),
		render.WaveBakeAnnotation:           r.pick(none, none, none, "0s", "1s"),
	}
	maps.DeleteFunc(a, func(_, value string) bool { return value == none })
	return a
}

// noReplicas are weights that leave member2 without replicas, which no one asks for otherwise.
const noReplicas = Push2 + "=0"

// variable is a content of the tenant's that becomes the name of a member where it is expanded.
const variable = "$(cluster.name)"

// labels may claim an object for a policy that does not exist, or keep its replicas.
func (r *randomTenant) labels() map[string]string {
	key := r.pick(none, none, none, claimLabel, "clusterpropagationpolicy.karmada.io/permanent-id", "resourcetemplate.karmada.io/claimed-by", render.ManagedByLabel, retainLabel)
	if key == none {
		return nil
	}
	return map[string]string{key: r.pick("x", "true", render.ManagedByValue)}
}

// place draws where to act, and on what.
func (r *randomTenant) place() (namespace, object string) {
	switch r.random.IntN(4) {
	case 0:
		return r.others.shared(max(0, r.others.generations-1-r.random.IntN(2))), r.pick("a", "taken", "plain", "suspended", "suspended-there", "kept")
	case 1:
		if n := len(r.squats); n > 0 { // rather one of the last
			id := r.squats[max(0, n-1-r.random.IntN(4))]
			return id.Namespace, id.Name
		}
	}
	return r.pick(append(slices.Clone(r.own), r.fenced)...), r.pick("a", "b", "c")
}

// target draws another user's object to collide with; some do not exist yet.
func (r *randomTenant) target() render.Identity {
	ids := r.others.ids(max(0, r.others.generations-r.random.IntN(3)))
	return ids[r.random.IntN(len(ids))]
}

// actFor does random things for a time, and looks at the members now and then.
func (r *randomTenant) actFor(t *testing.T, lasts time.Duration) {
	t.Helper()
	for begun, looked := time.Now(), time.Now(); time.Since(begun) < lasts; {
		r.act(t)
		if time.Since(looked) > 3*time.Second {
			r.look(t)
			looked = time.Now()
		}
	}
}

// act does one random thing.
func (r *randomTenant) act(t *testing.T) {
	t.Helper()
	namespace, object := r.place()
	u := Plain(namespace, object, r.pick("one", "two", "three", variable))
	u.SetAnnotations(r.wishes())
	u.SetLabels(r.labels())
	what := r.pick("create", "create", "update", "update", "merge", "strategic merge", "apply", "apply", "remove annotations", "generate", "dry run", "delete", "recreate", "delete all",
		"deploy", "status", "scale", "default", "remove default", "namespace status", "leave", "return", "collide", "collide")
	var err error
	switch what {
	case "deploy", "status", "scale":
		err = r.onDeployment(t, what, u)
	case "default", "remove default", "namespace status":
		err = r.onNamespace(t, what, namespace)
	case "leave", "return", "collide":
		err = r.onNamespaces(t, what, u)
	default:
		err = r.onConfigMap(t, what, u)
	}
	r.done[what]++
	r.count(err)
}

func (r *randomTenant) onConfigMap(t *testing.T, what string, u *unstructured.Unstructured) (err error) {
	t.Helper()
	objects, ctx, name := r.client.Resource(ConfigMaps).Namespace(u.GetNamespace()), t.Context(), u.GetName()
	switch what {
	case "create":
		_, err = objects.Create(ctx, u, metav1.CreateOptions{})
	case "generate":
		u.SetName("")
		u.SetGenerateName(name + "-")
		_, err = objects.Create(ctx, u, metav1.CreateOptions{})
	case "dry run":
		_, err = objects.Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	case "recreate":
		_ = objects.Delete(ctx, name, metav1.DeleteOptions{})
		_, err = objects.Create(ctx, u, metav1.CreateOptions{})
	case "update":
		_, err = objects.Update(ctx, u, metav1.UpdateOptions{})
	case "merge":
		_, err = objects.Patch(ctx, name, types.MergePatchType, metadataOf(t, u.GetAnnotations(), u.GetLabels()), metav1.PatchOptions{})
	case "strategic merge":
		replaced := merged(u.GetAnnotations(), annotations{"$patch": "replace"})
		_, err = objects.Patch(ctx, name, types.StrategicMergePatchType, metadataOf(t, replaced, u.GetLabels()), metav1.PatchOptions{})
	case "apply":
		_, err = objects.Apply(ctx, name, u, metav1.ApplyOptions{FieldManager: r.pick("one", "two"), Force: true})
	case "remove annotations":
		_, err = objects.Patch(ctx, name, types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/annotations"}]`), metav1.PatchOptions{})
	case "delete":
		err = objects.Delete(ctx, name, metav1.DeleteOptions{})
	case "delete all":
		if slices.Contains(r.own, u.GetNamespace()) { // elsewhere they may, but little would be left to try
			err = objects.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		}
	}
	return err
}

func (r *randomTenant) onDeployment(t *testing.T, what string, like *unstructured.Unstructured) (err error) {
	t.Helper()
	u := deployment(like.GetNamespace(), 1)
	u.SetAnnotations(like.GetAnnotations())
	u.SetLabels(like.GetLabels())
	objects, patch := r.client.Resource(Deployments).Namespace(u.GetNamespace()), metadataOf(t, u.GetAnnotations(), nil)
	switch what {
	case "deploy":
		_, err = objects.Apply(t.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: "one", Force: true})
	case "scale":
		patch = fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"*"}},"spec":{"replicas":%d}}`, render.ClustersAnnotation, 1+r.random.IntN(3))
		fallthrough
	case "status":
		_, err = objects.Patch(t.Context(), u.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, what)
	}
	return err
}

// onNamespace changes the default of a Namespace.
func (r *randomTenant) onNamespace(t *testing.T, what, name string) (err error) {
	t.Helper()
	namespaces, patch := r.client.Resource(Namespaces), metadataOf(t, r.wishes(), nil)
	switch what {
	case "default":
		_, err = namespaces.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	case "remove default":
		_, err = namespaces.Patch(t.Context(), name, types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/annotations"}]`), metav1.PatchOptions{})
	case "namespace status":
		_, err = namespaces.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	return err
}

// onNamespaces deletes one of the tenant's Namespaces, makes it again, or makes one with an
// object whose Work has the same name as another user's.
func (r *randomTenant) onNamespaces(t *testing.T, what string, u *unstructured.Unstructured) error {
	t.Helper()
	switch {
	case what == "leave" && len(r.own) > lasting:
		i := lasting + r.random.IntN(len(r.own)-lasting)
		name := r.own[i]
		r.own, r.left = slices.Delete(r.own, i, i+1), append(r.left, name)
		return r.client.Resource(Namespaces).Delete(t.Context(), name, metav1.DeleteOptions{})
	case what == "return" && len(r.left) > 0 && len(r.own) < maxOwn:
		i := r.random.IntN(len(r.left))
		name := r.left[i]
		r.left = slices.Delete(r.left, i, i+1)
		r.makeNamespace(t, name)
	case what == "collide" && len(r.own) < maxOwn:
		return r.collide(t, u)
	}
	return nil
}

func (r *randomTenant) collide(t *testing.T, like *unstructured.Unstructured) error {
	t.Helper()
	id := Colliding(t, r.pick("ConfigMap", "ConfigMap", "Deployment"), r.target(), r.pick("", "a", "b", "c"))
	if !slices.Contains(r.own, id.Namespace) {
		r.makeNamespace(t, id.Namespace)
	}
	u, resource := Plain(id.Namespace, "", "theirs"), ConfigMaps
	if id.Kind == "Deployment" {
		u, resource = deployment(id.Namespace, 1), Deployments
	}
	u.SetName(id.Name)
	u.SetAnnotations(like.GetAnnotations())
	if r.random.IntN(2) == 0 {
		u.SetAnnotations(annotations{render.ClustersAnnotation: Push})
	}
	_, err := r.client.Resource(resource).Namespace(id.Namespace).Create(t.Context(), u, metav1.CreateOptions{})
	if err == nil && id.Kind == "ConfigMap" {
		r.squats = append(r.squats, id)
	}
	return err
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

// look checks the members: nothing of the tenant's is where they may not mirror to, and
// other users' objects are as they were.
func (r *randomTenant) look(t *testing.T) {
	t.Helper()
	namespaces := append(slices.Clone(r.own), r.fenced)
	for g := range r.others.generations {
		namespaces = append(namespaces, r.others.shared(g))
	}
	for _, namespace := range namespaces {
		for _, member := range []string{Push2, Pull} {
			if namespace == r.fenced && member == Pull { // which its selector matches
				continue
			}
			for _, resource := range []schema.GroupVersionResource{ConfigMaps, Deployments} {
				list, err := Env.Member(member).Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "karmada.io/managed=true"})
				Must(t, err)
				for _, u := range list.Items {
					if !r.others.isTheirs(member, namespace, u.GetName()) {
						t.Errorf("%s %s/%s is in %s: %v", u.GetKind(), namespace, u.GetName(), member, u.GetAnnotations())
					}
					if value(&u) == member {
						t.Errorf("%s/%s is expanded in %s: %v", namespace, u.GetName(), member, u.GetAnnotations())
					}
				}
			}
		}
	}
	r.others.look(t)
	if t.Failed() {
		t.Fatalf("after %v", r.done)
	}
}

func value(u *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(u.Object, "data", "key")
	return text
}
