package shared

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// others are the users beside the tenant of TestRandomTenant: administrators, whose policy
// propagates objects too, and the users of the members.
type others struct {
	// home is their Namespace. They make more later, in which the tenant may edit too.
	home string
	// stay are objects in the members that must stay as they are; absent must not come.
	stay   map[thing]state
	absent []thing
	// generations counts how often they have made objects.
	generations int
}

// thing is an object in a member.
type thing struct{ member, kind, namespace, name string }

func (th thing) get(ctx context.Context) (*unstructured.Unstructured, error) {
	resource := map[string]schema.GroupVersionResource{"ConfigMap": ConfigMaps, "Namespace": Namespaces, "Deployment": Deployments}[th.kind]
	return Env.Member(th.member).Resource(resource).Namespace(th.namespace).Get(ctx, th.name, metav1.GetOptions{})
}

// state is what must not change; an empty value may.
type state struct {
	uid   types.UID
	value string
}

// propagating is the label of the objects that the policy propagates.
const propagating = "propagate"

func newOthers(t *testing.T, home string) *others {
	t.Helper()
	o := &others{home: home, stay: map[thing]state{}}
	Create(t, Policies, Object("policy.karmada.io/v1alpha1", "PropagationPolicy", home, "pages", map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "labelSelector": map[string]any{"matchLabels": map[string]any{propagating: "yes"}}}},
		"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{Push, Push2}}},
	}}))
	o.generate(t)
	o.keepNamespace(t, home)
	return o
}

// generate makes another object of each sort.
func (o *others) generate(t *testing.T) {
	t.Helper()
	ids := o.ids(o.generations)
	o.generations++
	propagated := Plain(o.home, ids[2].Name, "one")
	propagated.SetLabels(map[string]string{propagating: "yes"})
	Create(t, ConfigMaps, propagated)
	Create(t, ConfigMaps, ConfigMap(o.home, ids[1].Name, Push+","+Push2, "one"))
	makeGuarded(t, ids[0].Name, enforced(t), nil)
	o.keepNamespace(t, ids[0].Name)
	for _, id := range ids[1:] {
		o.keep(t, Push, o.home, id.Name, "one")
		o.keep(t, Push2, o.home, id.Name, "one")
	}
	o.share(t, o.generations-1)
}

// ids are the objects of a generation whose Work names a tenant may want to take; those of
// the next one do not exist yet.
func (o *others) ids(generation int) []render.Identity {
	return []render.Identity{
		{Kind: "Namespace", Name: o.home + "-" + numbered("shared", generation)},
		{Kind: "ConfigMap", Namespace: o.home, Name: numbered("mirrored", generation)},
		{Kind: "ConfigMap", Namespace: o.home, Name: numbered("propagated", generation)},
	}
}

// shared is the Namespace of a generation, in which the tenant may edit too.
func (o *others) shared(generation int) string { return o.ids(generation)[0].Name }

func numbered(sort string, generation int) string { return fmt.Sprintf("%s-%d", sort, generation) }

// sharedNames are the objects in each shared Namespace, with their options.
var sharedNames = map[string]annotations{
	"taken": nil, "plain": nil, "web": nil,
	"suspended":       {render.SuspendAnnotation: "true"},
	"suspended-there": {render.SuspendAnnotation: "member?,!" + Push},
	"kept":            {render.PreserveOnDeletionAnnotation: "true"},
}

// share makes objects that the tenant may edit, and that ask for member2.
func (o *others) share(t *testing.T, g int) {
	t.Helper()
	namespace := o.shared(g)
	o.occupy(t, Push2, namespace, "taken")
	o.absent = append(o.absent, thing{Push2, "ConfigMap", namespace, "suspended"}, thing{Push2, "ConfigMap", namespace, "suspended-there"})
	for name, options := range sharedNames {
		u, resource := Plain(namespace, name, "one"), ConfigMaps
		if name == "web" {
			u, resource = deployment(namespace, 1), Deployments
		}
		u.SetAnnotations(merged(annotations{render.ClustersAnnotation: Push2}, options))
		Create(t, resource, u)
	}
	WantInMembers(t, namespace, "plain", "one", Push2)
	o.keep(t, Push2, namespace, "kept", "")
}

// occupy creates an object in a member that no one mirrors.
func (o *others) occupy(t *testing.T, member, namespace, name string) {
	t.Helper()
	u, err := Env.Member(member).Resource(ConfigMaps).Namespace(namespace).Create(t.Context(), Plain(namespace, name, "theirs"), metav1.CreateOptions{})
	Must(t, err)
	o.stay[thing{member, "ConfigMap", namespace, name}] = state{u.GetUID(), "theirs"}
}

// keep waits for a ConfigMap in a member, which must then stay.
func (o *others) keep(t *testing.T, member, namespace, name, value string) {
	t.Helper()
	WantInMembers(t, namespace, name, "one", member)
	o.stay[thing{member, "ConfigMap", namespace, name}] = state{MemberUIDs(t, namespace, name, member)[member], value}
}

// keepNamespace waits for a Namespace in every member, which must then stay.
func (o *others) keepNamespace(t *testing.T, name string) {
	t.Helper()
	for _, member := range []string{Push, Push2, Pull} {
		o.stay[thing{member, "Namespace", "", name}] = state{uid: namespaceIn(t, member, name)}
	}
}

// look checks that the members still have what must stay, and not what must be absent.
func (o *others) look(t *testing.T) {
	t.Helper()
	for th, want := range o.stay {
		switch u, err := th.get(t.Context()); {
		case err != nil:
			t.Errorf("%v: %v", th, err)
		case u.GetUID() != want.uid || u.GetDeletionTimestamp() != nil:
			t.Errorf("%v was deleted and recreated, or is being deleted", th)
		case want.value != "" && value(u) != want.value:
			t.Errorf("%v was changed: %q", th, value(u))
		}
	}
	for _, th := range o.absent {
		if u, err := th.get(t.Context()); !apierrors.IsNotFound(err) {
			t.Errorf("%v is there: %v, %v", th, u, err)
		}
	}
	for g := range o.generations {
		u, err := thing{Push2, "Deployment", o.shared(g), "web"}.get(t.Context())
		if err != nil {
			continue
		}
		if u.GetLabels()[retainLabel] != "" {
			t.Errorf("%s/%s keeps its replicas in %s", u.GetNamespace(), u.GetName(), Push2)
		}
		if replicas, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); replicas == 0 {
			t.Errorf("%s/%s has its replicas elsewhere than in %s", u.GetNamespace(), u.GetName(), Push2)
		}
	}
}

// isTheirs reports whether an object that is mirrored to a member was mirrored there by
// them.
func (o *others) isTheirs(member, namespace, name string) bool {
	for g := range o.generations {
		if namespace == o.shared(g) && member == Push2 {
			return name == "plain" || name == "kept" || name == "web"
		}
	}
	return false
}

// finish has them change and delete their objects: what they write arrives.
func (o *others) finish(t *testing.T) {
	t.Helper()
	for g := range o.generations {
		for _, id := range o.ids(g)[1:] {
			Change(t, ConfigMaps, id.Namespace, id.Name, SetField("two", "data", "key"))
		}
	}
	for g := range o.generations {
		ids := o.ids(g)
		for _, id := range ids[1:] {
			WantInMembers(t, id.Namespace, id.Name, "two", Push, Push2)
		}
		o.withdraw(t, ids[0].Name, "plain")
		Remove(t, Namespaces, "", ids[0].Name)
	}
	for g := range o.generations {
		WantGone(t, Namespaces, "", o.ids(g)[0].Name, Push, Push2, Pull)
	}
}

// withdraw deletes an object that the tenant may have changed. If it still asked for member2
// and not to be preserved, it is deleted there.
func (o *others) withdraw(t *testing.T, namespace, name string) {
	t.Helper()
	u, err := Env.Admin.Resource(ConfigMaps).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return
	}
	Must(t, err)
	Remove(t, ConfigMaps, namespace, name)
	a := u.GetAnnotations()
	if a[render.ClustersAnnotation] == Push2 && a[render.PreserveOnDeletionAnnotation] != "true" && len(u.GetLabels()) == 0 {
		WantGone(t, ConfigMaps, namespace, name, Push2)
	}
}
