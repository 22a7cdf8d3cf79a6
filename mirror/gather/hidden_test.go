package gather

import (
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

func named(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetUID("1")
	return u
}

// readerOf returns a Reader, for a user who may not read some resources, and a Deployment that
// asks for clusters and whose Pods need a ServiceAccount.
func readerOf(t *testing.T, clusters string, forbidden ...string) (*Reader, SourceRef) {
	t.Helper()
	web := named("apps/v1", "Deployment", "shop", "web")
	web.SetAnnotations(map[string]string{render.ClustersAnnotation: clusters})
	web.Object["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{"serviceAccountName": "web"}}}
	return readerWith(t, "{resource: serviceaccounts}", forbidden, web, named("v1", "Namespace", "", "shop"))
}

// readerWith returns a Reader, for a user who may not read some resources, and the Deployment web
// among these objects. The configuration has one more resource than deployments.
func readerWith(t *testing.T, resource string, forbidden []string, objects ...runtime.Object) (*Reader, SourceRef) {
	t.Helper()
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		state.ClustersResource: "ClusterList", render.WorksResource: "WorkList", deployments: "DeploymentList", state.NamespacesResource: "NamespaceList",
		{Version: "v1", Resource: "serviceaccounts"}: "ServiceAccountList", {Version: "v1", Resource: "secrets"}: "SecretList",
		bindingsResource: "ResourceBindingList", clusterBindingsResource: "ClusterResourceBindingList",
	}, append(objects, named("cluster.karmada.io/v1alpha1", "Cluster", "", "member1"))...)
	client.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if slices.Contains(forbidden, a.GetResource().Resource) {
			return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "", nil)
		}
		return false, nil, nil
	})
	c, err := config.Parse([]byte("{apiVersion: mirror.karmada.target/v1alpha1, kind: MirrorConfiguration, resources: [{group: apps, resource: deployments}, " + resource + "]}"))
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{deployments.GroupVersion()})
	mapper.Add(deployments.GroupVersion().WithKind("Deployment"), meta.RESTScopeNamespace)
	r, err := NewReader(t.Context(), client, mapper, c)
	if err != nil {
		t.Fatal(err)
	}
	mapping := &meta.RESTMapping{Resource: deployments, GroupVersionKind: deployments.GroupVersion().WithKind("Deployment"), Scope: meta.RESTScopeNamespace}
	return r, SourceRef{Mapping: mapping, Namespace: "shop", Name: "web"}
}

// TestHidden: what a tenant may not read is skipped, whatever they have misspelled.
func TestHidden(t *testing.T) {
	cases := map[string]struct {
		reason    string
		clusters  string
		forbidden []string
		hidden    []string
		matters   []string // to this source
	}{
		"Nothing":      {"an administrator sees everything", "member1", nil, nil, nil},
		"Works":        {"a tenant does not see the Works", "member1", []string{"works"}, []string{"the Works"}, []string{"the Works"}},
		"Typo":         {"also if a cluster is misspelled", "member1,memebr2", []string{"works"}, []string{"the Works"}, []string{"the Works"}},
		"OnlyTypo":     {"or all are", "memebr2", []string{"works"}, []string{"the Works"}, nil},
		"Clusters":     {"without the right to list clusters, the names are taken as correct", "member1", []string{"clusters", "works"}, []string{"the Clusters", "the Works"}, []string{"the Works"}},
		"NamesAlone":   {"and then the list makes no difference", "member1", []string{"clusters"}, []string{"the Clusters"}, nil},
		"Glob":         {"it does for a glob", "member*", []string{"clusters"}, []string{"the Clusters"}, []string{"the Clusters"}},
		"Dependencies": {"what only a notice depends on does not matter", "member1", []string{"serviceaccounts"}, nil, nil},
		"Namespace":    {"a Namespace may have a default", "member1", []string{"namespaces"}, []string{"namespace shop"}, []string{"namespace shop"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, ref := readerOf(t, tc.clusters, tc.forbidden...)
			f, err := r.Facts(t.Context(), ref, nil)
			if err != nil || !slices.Equal(r.Hidden(), tc.hidden) || !slices.Equal(r.HiddenOf(f), tc.matters) {
				t.Errorf("%s: %q is hidden and %q matters, want %q and %q: %v", tc.reason, r.Hidden(), r.HiddenOf(f), tc.hidden, tc.matters, err)
			}
			r, ref = readerOf(t, tc.clusters, tc.forbidden...)
			s, err := r.Survey(t.Context(), "shop")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Facts(t.Context(), ref, nil); err != nil {
				t.Errorf("%s: a survey: %v", tc.reason, err)
			}
		})
	}
}
