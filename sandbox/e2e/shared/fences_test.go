package shared

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestSquattedNamespace has a tenant take the name that Karmada gives to the Work of a
// Namespace, before the Namespace is created. When the tenant's object moves elsewhere,
// the Namespace stays where it is.
func TestSquattedNamespace(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	victim := render.Identity{Kind: "Namespace", Name: ns + "-victim"}
	squatter := Colliding(t, "ConfigMap", victim, "")
	makeTestNamespace(t, squatter.Namespace)
	Create(t, ConfigMaps, ConfigMap(squatter.Namespace, squatter.Name, Push, "one"))
	WantInMembers(t, squatter.Namespace, squatter.Name, "one", Push)
	Change(t, ConfigMaps, squatter.Namespace, squatter.Name, SetAnnotation(render.ClustersAnnotation, ""))
	Settle(t)
	makeTestNamespace(t, victim.Name)
	uid := namespaceIn(t, Push, victim.Name)
	Change(t, ConfigMaps, squatter.Namespace, squatter.Name, SetAnnotation(render.ClustersAnnotation, Pull))
	WantInMembers(t, squatter.Namespace, squatter.Name, "one", Pull)
	Settle(t)
	wantWorkOf(t, victim, Push)
	if now := namespaceIn(t, Push, victim.Name); now != uid {
		t.Errorf("the Namespace in %s was deleted and recreated", Push)
	}
	Remove(t, Namespaces, "", victim.Name)
	WantGone(t, Namespaces, "", victim.Name, Push)
}

// TestSquattedCluster targets a cluster before it joins, with objects whose Works have the
// same names as those of Namespaces, and of what Karmada gives its impersonator there.
func TestSquattedCluster(t *testing.T) {
	const late = "newcomer"
	ns := Isolate(t)
	StartDaemon(t)
	var spaces, objects []render.Identity
	for i := range squatters {
		spaces = append(spaces, render.Identity{Kind: "Namespace", Name: fmt.Sprintf("%s-victim-%d", ns, i)})
		makeTestNamespace(t, spaces[i].Name)
	}
	victims := append(slices.Clone(spaces), render.Identity{Kind: "ClusterRole", Name: impersonator}, render.Identity{Kind: "ClusterRoleBinding", Name: impersonator})
	for i, id := range victims {
		objects = append(objects, Colliding(t, "ConfigMap", id, ""))
		makeTestNamespace(t, objects[i].Namespace)
		Create(t, ConfigMaps, ConfigMap(objects[i].Namespace, objects[i].Name, late, "one"))
	}
	Must(t, join(t.Context(), late))
	t.Cleanup(func() { _ = unjoin(context.Background(), late) })
	for i, id := range victims {
		if id.Kind == "Namespace" {
			hasten(t, late, id.Name)
		}
		hasten(t, late, objects[i].Namespace)
		WantInMembers(t, objects[i].Namespace, objects[i].Name, "one", late)
	}
	for i, id := range victims {
		wantWorkOf(t, id, late)
		wantLongWork(t, objects[i], late)
	}
	for _, id := range objects { // later changes arrive, and a deletion deletes nothing else
		Change(t, ConfigMaps, id.Namespace, id.Name, SetField("two", "data", "key"))
		WantInMembers(t, id.Namespace, id.Name, "two", late)
		Remove(t, ConfigMaps, id.Namespace, id.Name)
		WantGone(t, ConfigMaps, id.Namespace, id.Name, late)
	}
	for _, id := range victims {
		wantWorkOf(t, id, late)
	}
	for _, id := range spaces {
		namespaceIn(t, late, id.Name)
	}
	for _, id := range spaces { // and deleted Namespaces are deleted, whichever was first
		Remove(t, Namespaces, "", id.Name)
	}
	for _, id := range spaces {
		WantGone(t, Namespaces, "", id.Name, late)
	}
}

// impersonator is the name of the objects that let Karmada act as its users in a member.
const impersonator = "karmada-impersonator"

// TestSquattedSource has two sources with the same Work name: each gets an object of its
// own in the member.
func TestSquattedSource(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	victim, squatter, long := squatted(t, ns)
	wantWorkOf(t, squatter, Push)
	explanation := MustKarmadaMirror(t, "explain", "cm", victim.Name, "-n", ns)
	WantLine(t, explanation, long.Name)
	WantLine(t, explanation, "^  Note: .*Karmada does not recreate it until the source changes$")
	WantLine(t, MustKarmadaMirror(t, "status", "cm", victim.Name, "-n", ns), long.Name)
	Change(t, ConfigMaps, ns, victim.Name, SetField("two", "data", "key"))
	WantInMembers(t, ns, victim.Name, "two", Push)
	Remove(t, ConfigMaps, squatter.Namespace, squatter.Name)
	WantGone(t, ConfigMaps, squatter.Namespace, squatter.Name, Push)
	Change(t, ConfigMaps, ns, victim.Name, SetField("three", "data", "key"))
	WantInMembers(t, ns, victim.Name, "three", Push)
	Remove(t, ConfigMaps, ns, victim.Name)
	WantGone(t, ConfigMaps, ns, victim.Name, Push)
}

// squat has an object of another Namespace take the name of a victim's Work, which does
// not exist yet.
func squat(t *testing.T, ns string) (victim, squatter render.Identity) {
	t.Helper()
	victim = render.Identity{Kind: "ConfigMap", Namespace: ns, Name: "page"}
	squatter = Colliding(t, "ConfigMap", victim, "")
	makeTestNamespace(t, squatter.Namespace)
	Create(t, ConfigMaps, ConfigMap(squatter.Namespace, squatter.Name, Push, "theirs"))
	WantInMembers(t, squatter.Namespace, squatter.Name, "theirs", Push)
	return victim, squatter
}

// squatted mirrors a victim whose Work name is taken, and returns its Work, which has the
// longer name.
func squatted(t *testing.T, ns string) (victim, squatter render.Identity, long types.NamespacedName) {
	t.Helper()
	victim, squatter = squat(t, ns)
	Create(t, ConfigMaps, ConfigMap(ns, victim.Name, Push, "one"))
	WantInMembers(t, ns, victim.Name, "one", Push)
	return victim, squatter, wantLongWork(t, victim, Push)
}

// propagate has a policy propagate a ConfigMap.
func propagate(t *testing.T, id render.Identity, clusters ...any) {
	t.Helper()
	Create(t, Policies, Object("policy.karmada.io/v1alpha1", "PropagationPolicy", id.Namespace, "pages", map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": id.Name}},
		"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": clusters}},
	}}))
	t.Cleanup(func() {
		_ = Env.Admin.Resource(Policies).Namespace(id.Namespace).Delete(context.Background(), "pages", metav1.DeleteOptions{})
	})
}

// TestSquattedMove has a policy claim an object whose Work has the longer name: that Work
// is deleted, because the policy's has the short one, and the object in the member stays.
func TestSquattedMove(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	victim, squatter, long := squatted(t, ns)
	uids := MemberUIDs(t, ns, victim.Name, Push)
	propagate(t, victim, Push)
	Eventually(t, "the Work with the longer name to be deleted", func(ctx context.Context) error {
		_, err := GetWork(ctx, long)
		if !apierrors.IsNotFound(err) {
			return errors.Join(err, errors.New("it still exists"))
		}
		return nil
	})
	wantLongWork(t, squatter, Push)
	wantWorkOf(t, victim, Push)
	WantHolder(t, ns, victim.Name, Push, "binding")
	Change(t, ConfigMaps, ns, victim.Name, func(u *unstructured.Unstructured) {
		u.SetAnnotations(nil)
		SetField("two", "data", "key")(u)
	})
	WantInMembers(t, ns, victim.Name, "two", Push)
	Settle(t)
	if now := MemberUIDs(t, ns, victim.Name, Push); now[Push] != uids[Push] {
		t.Errorf("the object in %s was deleted and recreated", Push)
	}
}

// TestSquattedBinding hands a Work over to a policy that does not exist, so that a binding
// that wants its name takes it, and then asks for it back.
func TestSquattedBinding(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	victim, squatter := squat(t, ns)
	falseClaim(t, squatter)
	Settle(t)
	Create(t, ConfigMaps, Plain(ns, victim.Name, "one"))
	propagate(t, victim, Push)
	WantInMembers(t, ns, victim.Name, "one", Push)
	uids := MemberUIDs(t, ns, victim.Name, Push)
	Change(t, ConfigMaps, squatter.Namespace, squatter.Name, func(u *unstructured.Unstructured) {
		u.SetLabels(nil)
		u.SetAnnotations(annotations{render.ClustersAnnotation: Push})
	})
	Change(t, ConfigMaps, squatter.Namespace, squatter.Name, SetField("again", "data", "key"))
	WantInMembers(t, squatter.Namespace, squatter.Name, "again", Push)
	wantLongWork(t, squatter, Push)
	WantHolder(t, ns, victim.Name, Push, "binding")
	Remove(t, ConfigMaps, squatter.Namespace, squatter.Name)
	WantGone(t, ConfigMaps, squatter.Namespace, squatter.Name, Push)
	Change(t, ConfigMaps, ns, victim.Name, SetField("two", "data", "key"))
	WantInMembers(t, ns, victim.Name, "two", Push)
	if now := MemberUIDs(t, ns, victim.Name, Push); now[Push] != uids[Push] {
		t.Errorf("the victim's object in %s was deleted and recreated", Push)
	}
}

// TestSquattedForNothing deletes an object whose Work has the name that a policy's Work needs,
// and is to preserve an object that the member does not have: Karmada never completes that
// deletion by itself.
func TestSquattedForNothing(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	victim := render.Identity{Kind: "ConfigMap", Namespace: ns, Name: "page"}
	squatter := Colliding(t, "ConfigMap", victim, "")
	makeTestNamespace(t, squatter.Namespace)
	u := Plain(squatter.Namespace, squatter.Name, "theirs")
	u.SetAnnotations(annotations{render.ClustersAnnotation: Push, render.SuspendAnnotation: "true", render.PreserveOnDeletionAnnotation: "true"})
	Create(t, ConfigMaps, u)
	work := ConfigMapWork(squatter.Namespace, squatter.Name, Push)
	MustWork(t, work)
	Remove(t, ConfigMaps, squatter.Namespace, squatter.Name)
	Eventually(t, "the Work to be on its way", func(ctx context.Context) error { // before that, the binding would take it over
		w, err := GetWork(ctx, work)
		if err == nil && w.GetDeletionTimestamp() == nil {
			return errors.New("its deletion has not been requested")
		}
		return err
	})
	Create(t, ConfigMaps, Plain(ns, victim.Name, "one"))
	propagate(t, victim, Push)
	WantInMembers(t, ns, victim.Name, "one", Push)
}

// TestFalseClaim claims an object for a policy that does not exist, as its annotation is
// removed: the Work is still ours, and is deleted with its source.
func TestFalseClaim(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	id := render.Identity{Kind: "ConfigMap", Namespace: ns, Name: "page"}
	Create(t, ConfigMaps, ConfigMap(ns, id.Name, Push, "one"))
	WantInMembers(t, ns, id.Name, "one", Push)
	falseClaim(t, id)
	WantEvent(t, ns, id.Name, "ClaimedByPolicy")
	Settle(t)
	WantHolder(t, ns, id.Name, Push, "mirror")
	WantLine(t, MustKarmadaMirror(t, "status", "cm", "-n", ns), id.Name)
	Remove(t, ConfigMaps, ns, id.Name)
	WantGone(t, ConfigMaps, ns, id.Name, Push)
	Eventually(t, "the Work to be deleted", func(ctx context.Context) error { return Disagreement(ctx, ns, ConfigMaps) })
}

// falseClaim removes an object's annotations and labels it as a policy's, in one write.
func falseClaim(t *testing.T, id render.Identity) {
	t.Helper()
	Change(t, ConfigMaps, id.Namespace, id.Name, func(u *unstructured.Unstructured) {
		u.SetAnnotations(nil)
		u.SetLabels(map[string]string{"propagationpolicy.karmada.io/permanent-id": "x"})
	})
}

// TestKeptWorks has a tenant who may mirror to member1 write what makes the daemon keep an
// administrator's object in member2 as it is, and then change how it is deleted there.
func TestKeptWorks(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	enforce(t, ns)
	clusters, preserve := render.ClustersAnnotation, render.PreserveOnDeletionAnnotation
	client := tenant(t, Home(t)+"-tenant", Push)
	keep := map[string]annotations{"empty": {clusters: ""}, "claimed": {claimLabel: "x"}}
	options := map[string][2]annotations{"taken": {{preserve: "true"}, nil}, "given": {nil, {preserve: "true"}}}
	for name, kept := range keep {
		for option, step := range options {
			t.Run(name+"/"+option, func(t *testing.T) {
				page := name + "-" + option
				theirs := func(said ...annotations) func(*unstructured.Unstructured) {
					return func(u *unstructured.Unstructured) { say(u, merged(said...)) }
				}
				u := Plain(ns, page, "one")
				theirs(annotations{clusters: Push2}, step[0])(u)
				Create(t, ConfigMaps, u)
				WantInMembers(t, ns, page, "one", Push2)
				uids := MemberUIDs(t, ns, page, Push2)
				Must(t, changeAs(t, client, ns, page, theirs(kept, step[0])))
				Settle(t)
				if err := changeAs(t, client, ns, page, theirs(annotations{clusters: Push}, step[1])); !apierrors.IsForbidden(err) {
					t.Errorf("a change of %s is not refused: %v", preserve, err)
				}
				Must(t, changeAs(t, client, ns, page, theirs(annotations{clusters: Push}, step[0])))
				WantInMembers(t, ns, page, "one", Push)
				if option == "given" {
					WantGone(t, ConfigMaps, ns, page, Push2)
					return
				}
				Settle(t)
				WantNoWork(t, ConfigMapWork(ns, page, Push2))
				if now := MemberUIDs(t, ns, page, Push2); now[Push2] != uids[Push2] {
					t.Errorf("the object in %s was deleted and recreated", Push2)
				}
			})
		}
	}
}

// wantValue waits until a member has a ConfigMap with a value, or none if that is empty.
func wantValue(t *testing.T, member, namespace, name, want string) {
	t.Helper()
	if want == "" {
		WantGone(t, ConfigMaps, namespace, name, member)
	} else {
		WantInMembers(t, namespace, name, want, member)
	}
}

func merged(all ...annotations) annotations {
	sum := annotations{}
	for _, a := range all {
		maps.Copy(sum, a)
	}
	return sum
}

// changeAs is like [Change], for another user, and returns the error.
func changeAs(t *testing.T, as dynamic.Interface, namespace, name string, mutate func(*unstructured.Unstructured)) error {
	t.Helper()
	objects := as.Resource(ConfigMaps).Namespace(namespace)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		u, err := objects.Get(t.Context(), name, metav1.GetOptions{})
		Must(t, err)
		mutate(u)
		_, err = objects.Update(t.Context(), u, metav1.UpdateOptions{})
		return err
	})
}

// TestOptionsAreFenced has an editor, who may mirror nowhere, change the options of an
// administrator's objects in member2. Nothing changes there until the administrator does
// the same.
func TestOptionsAreFenced(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	enforce(t, ns)
	suspend, preserve, conflict := render.SuspendAnnotation, render.PreserveOnDeletionAnnotation, render.ConflictResolutionAnnotation
	editor := tenant(t, Home(t)+"-editor", "nowhere")
	namespaceIn(t, Push2, ns)
	const absent, theirs, ours = "", "two", "one" // in member2
	cases := map[string]struct {
		isTaken bool // member2 already has an object of that name
		before  annotations
		tries   []annotations
		still   string
		// then is what the administrator writes; nil deletes the object.
		then annotations
		end  string
	}{
		"overwritten": {isTaken: true, tries: []annotations{{conflict: "overwrite"}}, still: theirs, then: annotations{conflict: "overwrite"}, end: ours},
		"resumed":     {before: annotations{suspend: "true"}, tries: []annotations{{suspend: "false"}, {}}, still: absent, then: annotations{suspend: "false"}, end: ours},
		"left":        {tries: []annotations{{preserve: "true"}}, still: ours, end: absent},
		"kept":        {before: annotations{preserve: "true"}, tries: []annotations{{preserve: "false"}, {}}, still: ours, end: ours},
	}
	asking := func(a annotations) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) { say(u, merged(annotations{render.ClustersAnnotation: Push2}, a)) }
	}
	for name, c := range cases {
		if c.isTaken {
			_, err := Env.Member(Push2).Resource(ConfigMaps).Namespace(ns).Create(t.Context(), Plain(ns, name, theirs), metav1.CreateOptions{})
			Must(t, err)
		}
		u := Plain(ns, name, ours)
		asking(c.before)(u)
		Create(t, ConfigMaps, u)
		wantValue(t, Push2, ns, name, c.still)
		for _, said := range c.tries {
			if err := changeAs(t, editor, ns, name, asking(said)); !apierrors.IsForbidden(err) {
				t.Errorf("%s: %q is not refused: %v", name, said, err)
			}
		}
	}
	Settle(t)
	for name, c := range cases {
		wantValue(t, Push2, ns, name, c.still)
		if c.then == nil {
			Remove(t, ConfigMaps, ns, name)
		} else {
			Change(t, ConfigMaps, ns, name, asking(c.then))
		}
	}
	Settle(t)
	for name, c := range cases {
		wantValue(t, Push2, ns, name, c.end)
	}
}

// TestNamespaceExclusionsHold: no object is mirrored to a cluster that its Namespace
// excludes, whatever its own annotations say and whichever came first.
func TestNamespaceExclusionsHold(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	clusters, selector := render.ClustersAnnotation, render.ClusterSelectorAnnotation
	earlier := Plain(ns, "earlier", "one")
	earlier.SetAnnotations(annotations{clusters: Push, selector: everywhere})
	Create(t, ConfigMaps, earlier)
	WantInMembers(t, ns, "earlier", "one", Push, Push2)
	Change(t, Namespaces, "", ns, SetAnnotation(clusters, Push+",!"+Push2))
	WantGone(t, ConfigMaps, ns, "earlier", Push2)
	own := map[string]annotations{
		"opted-out": {clusters: "", selector: everywhere}, "listed": {clusters: Push, selector: everywhere}, "named": {clusters: Push + "," + Push2}, "star": {clusters: "*"},
		"selecting": {selector: everywhere},
	}
	for name, a := range own {
		u := Plain(ns, name, "one")
		u.SetAnnotations(a)
		Create(t, ConfigMaps, u)
	}
	for name := range own {
		WantInMembers(t, ns, name, "one", Push)
	}
	Settle(t)
	for name := range own {
		WantNoWork(t, ConfigMapWork(ns, name, Push2))
	}
}

// TestBreakerOfOneNamespace: deletions held for one Namespace hold up no other, and can be
// approved separately.
func TestBreakerOfOneNamespace(t *testing.T) {
	ns := Isolate(t)
	const sources = 60
	d := StartDaemon(t, "--deletion-settle-period", "5s")
	d.Reconfigure(t, func() { Configure(t, withBreaker(t)) })
	theirs := NewNamespace(t)
	CreatePages(t, theirs, Push, sources)
	CreatePages(t, ns, Push, 5)
	WantInMembers(t, theirs, fmt.Sprintf("page-%d", sources-1), "one", Push)
	WantInMembers(t, ns, "page-4", "one", Push)
	Eventually(t, "the Works", func(ctx context.Context) error { return Disagreement(ctx, theirs, ConfigMaps) })
	removeAtOnce(t, d, theirs)
	Eventually(t, "all deletions to be held", d.WantMetric(Held("configmaps"), sources))
	WantEvent(t, Home(t), Account, "DeletionHeld", theirs)
	for i := range 5 {
		Remove(t, ConfigMaps, ns, fmt.Sprintf("page-%d", i))
	}
	for i := range 5 {
		WantGone(t, ConfigMaps, ns, fmt.Sprintf("page-%d", i), Push)
	}
	Eventually(t, "the other deletions to stay held", d.WantMetric(Held("configmaps"), sources))
	WantLine(t, MustKarmadaMirror(t, "deletions", "list"), `^configmaps +`+theirs+` +60 +60 +`+Push+` `)
	WantLine(t, MustKarmadaMirror(t, "deletions", "approve", "--yes", "--namespace", theirs), `^approved: 60 deletions of configmaps in namespace `)
	WantGone(t, ConfigMaps, theirs, "page-0", Push)
	Eventually(t, "nothing to be held", d.WantMetric(Held("configmaps"), 0))
}

// makeTestNamespace makes a Namespace with a given name.
func makeTestNamespace(t *testing.T, name string) {
	t.Helper()
	Create(t, Namespaces, Object("v1", "Namespace", "", name, nil))
	t.Cleanup(func() {
		_ = Env.Admin.Resource(Namespaces).Delete(context.Background(), name, metav1.DeleteOptions{})
	})
}

// namespaceIn waits for a Namespace in a member that is not being deleted.
func namespaceIn(t *testing.T, member, name string) (uid types.UID) {
	t.Helper()
	Eventually(t, "Namespace "+name+" in "+member, func(ctx context.Context) error {
		u, err := Env.Member(member).Resource(Namespaces).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if u.GetDeletionTimestamp() != nil {
			return errors.New("it is being deleted")
		}
		uid = u.GetUID()
		return nil
	})
	return uid
}

// wantWorkOf waits until the Work with the name that Karmada gives to an object's Work
// carries that object, and has our marks only if it is ours.
func wantWorkOf(t *testing.T, id render.Identity, cluster string) {
	t.Helper()
	Eventually(t, fmt.Sprintf("the Work of %s on %s", id, cluster), func(ctx context.Context) error {
		w, err := GetWork(ctx, types.NamespacedName{Namespace: render.ExecutionNamespace(cluster), Name: id.WorkName()})
		if err != nil {
			return err
		}
		return carries(w, id)
	})
}

// wantLongWork waits until the Work of an object has the longer name.
func wantLongWork(t *testing.T, id render.Identity, cluster string) (name types.NamespacedName) {
	t.Helper()
	Eventually(t, fmt.Sprintf("the Work of %s on %s", id, cluster), func(ctx context.Context) error {
		list, err := Env.Admin.Resource(Works).Namespace(render.ExecutionNamespace(cluster)).List(ctx, metav1.ListOptions{LabelSelector: render.SourceIDLabel + "=" + id.ID()})
		if err != nil {
			return err
		}
		if len(list.Items) != 1 || list.Items[0].GetName() == id.WorkName() {
			return fmt.Errorf("there are %d, or it has the short name", len(list.Items))
		}
		name = types.NamespacedName{Namespace: list.Items[0].GetNamespace(), Name: list.Items[0].GetName()}
		return carries(&list.Items[0], id)
	})
	return name
}

// carries checks which object a Work carries, and whether our marks on it are true.
func carries(w *unstructured.Unstructured, id render.Identity) error {
	manifest, err := ManifestOf(w)
	if err != nil {
		return err
	}
	if manifest.GetKind() != id.Kind || manifest.GetNamespace() != id.Namespace || manifest.GetName() != id.Name {
		return fmt.Errorf("it carries %s %s/%s", manifest.GetKind(), manifest.GetNamespace(), manifest.GetName())
	}
	marks := []string{w.GetLabels()[render.ManagedByLabel], w.GetLabels()[render.SourceIDLabel], w.GetAnnotations()[render.SourceAnnotation]}
	isMarked := slices.ContainsFunc(marks, func(mark string) bool { return mark != "" })
	if isMarked && w.GetAnnotations()[render.SourceAnnotation] != id.String() {
		return fmt.Errorf("it has our marks: %v", marks)
	}
	return nil
}
