package shared

import (
	"errors"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"

	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestHandoverForGood hands over to a policy in one step: the annotation is removed as the
// policy is created.
func TestHandoverForGood(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	ids := CreatePages(t, ns, Push, 10)
	WantSources(t, ns)
	WantInMembers(t, ns, "page-0", "one", Push)
	uids := MemberUIDs(t, ns, "page-0", Push)
	f := NewFault(t, "A policy claims mirrored sources, and their annotations are removed at once", ns)
	f.Note = "the Works are the policy's, the objects in the members keep their UIDs"
	Create(t, Policies, Object("policy.karmada.io/v1alpha1", "PropagationPolicy", ns, "pages", map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}},
		"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{Push}}},
	}}))
	for _, id := range ids {
		// Until Karmada has claimed it, an object without the annotation is not wanted.
		Eventually(t, "the policy to claim "+id.Name, func(ctx context.Context) error {
			u, err := Env.Admin.Resource(ConfigMaps).Namespace(ns).Get(ctx, id.Name, metav1.GetOptions{})
			if err == nil && u.GetLabels()[policyv1alpha1.PropagationPolicyPermanentIDLabel] == "" {
				err = errors.New("it has not")
			}
			return err
		})
		Change(t, ConfigMaps, ns, id.Name, func(u *unstructured.Unstructured) {
			annotations := u.GetAnnotations()
			delete(annotations, render.ClustersAnnotation)
			u.SetAnnotations(annotations)
		})
	}
	f.Heal()
	for _, id := range ids {
		WantHolder(t, ns, id.Name, Push, "binding")
	}
	f.Converge(Patience)
	if diff := cmp.Diff(uids, MemberUIDs(t, ns, "page-0", Push)); diff != "" {
		t.Errorf("the object in the member was deleted and recreated:\n%s", diff)
	}
	Remove(t, Policies, ns, "pages")
}

// TestForgedLabel puts our label, and more, on other owners' Works.
func TestForgedLabel(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	cases := map[string]forgery{
		"LabelOnly":      {what: "with our labels", labels: true},
		"IdentityOfMore": {what: "with our labels and source annotation, under a name that does not match", labels: true, identity: true},
		"Binding":        {what: "with our name, labels and source annotation, and a ResourceBinding's label", taken: true, labels: true, identity: true, owner: workv1alpha2.ResourceBindingPermanentIDLabel},
		"Quota":          {what: "with our name, labels and source annotation, and a FederatedResourceQuota's label", taken: true, labels: true, identity: true, owner: "federatedresourcequota.karmada.io/name"},
		"NoIdentity":     {what: "with our name, without our labels", taken: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			page := strings.ToLower(name)
			id := render.Identity{Kind: "ConfigMap", Namespace: ns, Name: page}
			work := types.NamespacedName{Namespace: render.ExecutionNamespace(Push), Name: "forged-" + page}
			if tc.taken {
				work.Name = id.WorkName()
			}
			f := NewFault(t, "Another owner's Work "+tc.what, ns)
			f.Allow(id, Push)
			foreign := Create(t, Works, forgedWork(work, id, tc))
			untouched := func() {
				t.Helper()
				after, err := GetWork(t.Context(), work)
				if err != nil || after.GetUID() != foreign.GetUID() || after.GetGeneration() != foreign.GetGeneration() {
					t.Errorf("the foreign Work was touched: %v, %v", after, err)
				}
			}
			mirrored := func() {
				t.Helper()
				Create(t, ConfigMaps, ConfigMap(ns, page, Push, "one"))
				if tc.taken {
					wantLongWork(t, id, Push)
				} else {
					MustWork(t, ConfigMapWork(ns, page, Push))
				}
				untouched()
			}
			mirrored()
			Remove(t, ConfigMaps, ns, page)
			Pass(t, 3*time.Second) // unwanted for longer than a deletion takes to settle
			untouched()
			mirrored()
			Remove(t, Works, work.Namespace, work.Name)
			f.Heal()
			if tc.taken {
				f.Note = "served by a Work with a longer name"
			}
			f.Converge(Patience)
			f.End()
		})
	}
}

// forgery is what is forged on another owner's Work.
type forgery struct {
	what  string // completes the name of the row
	taken bool   // the Work has the name that ours would have
	owner string // another owner's label; empty for none
	// labels and identity say that it has those of our Works.
	labels, identity bool
}

func forgedWork(name types.NamespacedName, id render.Identity, f forgery) *unstructured.Unstructured {
	work := Object("work.karmada.io/v1alpha1", "Work", name.Namespace, name.Name, map[string]any{
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

// TestTwoSourcesOneName: Karmada's name for a Work does not include the group. Both
// sources are mirrored, and each can be deleted alone.
func TestTwoSourcesOneName(t *testing.T) {
	ns := Isolate(t)
	blobs, others := InstallBlobs(t, "one.example"), InstallBlobs(t, "two.example")
	Configure(t, Resources(t, blobs.GroupResource().String(), others.GroupResource().String()))
	StartDaemon(t)
	f := NewFault(t, "Two sources with the same Work name; the first is deleted", ns, others)
	f.Note = "both are mirrored, and the second stays"
	first := render.Identity{Group: "one.example", Kind: "Blob", Namespace: ns, Name: "x"}
	second := render.Identity{Group: "two.example", Kind: "Blob", Namespace: ns, Name: "x"}
	Create(t, blobs, Blob("one.example", ns, "x", Push, "one"))
	wantWorkOf(t, first, Push)
	Create(t, others, Blob("two.example", ns, "x", Push, "two"))
	long := wantLongWork(t, second, Push)
	wantWorkOf(t, first, Push)
	f.Allow(first, Push)
	Remove(t, blobs, ns, "x")
	f.Heal()
	f.Converge(Patience)
	if source := MustWork(t, long).GetAnnotations()[render.SourceAnnotation]; source != second.String() {
		t.Errorf("the Work carries %s", source)
	}
	f.Allow(second, Push)
	Remove(t, others, ns, "x")
	Eventually(t, "the Work to be deleted", func(ctx context.Context) error { return Disagreement(ctx, ns, others) })
}
