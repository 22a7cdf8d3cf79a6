package gather

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestReadDependencies: a user who may read a Secret learns that it is not mirrored along with a
// Deployment that needs it, even if the daemon may not read Secrets.
func TestReadDependencies(t *testing.T) {
	const services, secrets, elsewhere = "{resource: services}", "{resource: secrets}", "{resource: secrets, namespaces: [other]}"
	id := render.Identity{Kind: "Secret", Namespace: "shop", Name: "pull"}
	pull, propagated := named("v1", "Secret", "shop", "pull"), named("v1", "Secret", "shop", "pull")
	propagated.SetLabels(map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "x"})
	web := named("apps/v1", "Deployment", "shop", "web")
	web.SetAnnotations(map[string]string{render.ClustersAnnotation: "member1"})
	web.Object["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{"imagePullSecrets": []any{map[string]any{"name": "pull"}}}}}
	plain, withDefault := named("v1", "Namespace", "", "shop"), named("v1", "Namespace", "", "shop")
	withDefault.SetAnnotations(map[string]string{render.ClustersAnnotation: "member1"})
	owned, member1 := pull.DeepCopy(), []string{"member1"}
	owned.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "x", Controller: new(true)}})
	cases := map[string]struct {
		reason    string
		resource  string
		forbidden []string
		objects   []runtime.Object
		want      []judge.Dependency
	}{
		"Exists":          {"the Pods would wait for it", services, nil, []runtime.Object{plain, pull}, []judge.Dependency{{ID: id, Clusters: member1, Unwatched: true}}},
		"Absent":          {"it may exist in the members", services, nil, []runtime.Object{plain}, nil},
		"Forbidden":       {"and so it may if the user cannot tell", services, []string{"secrets"}, []runtime.Object{plain, pull}, nil},
		"Default":         {"with a default of the Namespace, the daemon reports it unseen", services, []string{"secrets"}, []runtime.Object{withDefault}, []judge.Dependency{{ID: id, Clusters: member1, Unwatched: true}}},
		"OtherNamespaces": {"Secrets are configured, but not those of this Namespace", elsewhere, nil, []runtime.Object{plain, pull}, []judge.Dependency{{ID: id, Clusters: member1, Unwatched: true, OtherNamespaces: true}}},
		"Configured":      {"the daemon watches it, and it does not ask to be mirrored", secrets, nil, []runtime.Object{plain, pull}, []judge.Dependency{{ID: id, Clusters: member1}}},
		"OwnerMirrored":   {"its controller makes it in the member", secrets, nil, []runtime.Object{plain, owned}, nil},
		"Propagated":      {"a policy brings it there", services, nil, []runtime.Object{plain, propagated}, nil},
		"OtherDaemon":     {"so does the daemon of another configuration", services, nil, []runtime.Object{plain, pull, sample.Work(pull, "member1")}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, ref := readerWith(t, tc.resource, tc.forbidden, append(tc.objects, web)...)
			f, err := r.Facts(t.Context(), ref, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, f.Dependencies, cmp.Comparer(func(a, b render.Wishes) bool { return a.String() == b.String() })); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
