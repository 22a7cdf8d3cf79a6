package gather

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/render"
)

type fields = map[string]any

// binding returns the binding of a ConfigMap, with labels and with changes to its metadata and spec.
func binding(name string, labels fields, change func(metadata, spec fields)) fields {
	metadata := fields{"name": "page-configmap", "namespace": "shop", "labels": labels}
	spec := fields{"resource": fields{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": name}}
	if change != nil {
		change(metadata, spec)
	}
	return fields{"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "metadata": metadata, "spec": spec}
}

// answering returns a client of an API server that always gives the same answer, an object or
// an error. It records the path of the request.
func answering(t *testing.T, answer any) (client dynamic.Interface, asked *string) {
	t.Helper()
	asked = new(string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = r.URL.Path
		w.Header().Set("Content-Type", "application/json")
		body := answer
		if status, isError := answer.(apierrors.APIStatus); isError {
			refusal := status.Status()
			refusal.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			w.WriteHeader(int(refusal.Code))
			body = refusal
		}
		if err := json.NewEncoder(w).Encode(body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client, asked
}

func TestIsLeftBehind(t *testing.T) {
	id := sample.Page
	policy := fields{"propagationpolicy.karmada.io/permanent-id": "x"}
	clusterPolicy := fields{"clusterpropagationpolicy.karmada.io/permanent-id": "x"}
	gr := schema.GroupResource{Group: bindingsResource.Group, Resource: bindingsResource.Resource}
	cases := map[string]struct {
		reason  string
		answer  any // of the API server: a binding, or an error
		want    bool
		unknown bool
	}{
		"Gone":          {"the binding no longer exists", apierrors.NewNotFound(gr, "page-configmap"), true, false},
		"NoPolicy":      {"Karmada leaves a binding without labels behind when a policy is deleted", binding(id.Name, nil, nil), true, false},
		"Policy":        {"a policy needs it", binding(id.Name, policy, nil), false, false},
		"ClusterPolicy": {"or a cluster-wide policy", binding(id.Name, clusterPolicy, nil), false, false},
		"Required":      {"or another binding that depends on it", binding(id.Name, nil, func(_, spec fields) { spec["requiredBy"] = []any{fields{"name": "web"}} }), false, false},
		"Service":       {"or a multi-cluster Service", binding(id.Name, fields{"binding.karmada.io/managed-by": "MultiClusterService"}, nil), false, false},
		"AnotherSource": {"it belongs to another object, whatever its name", binding("other", nil, nil), false, false},
		"Going":         {"Karmada is still deleting its Works", binding(id.Name, nil, func(metadata, _ fields) { metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z" }), false, false},
		"Forbidden":     {"without the right to read it, nothing is known", apierrors.NewForbidden(gr, "page-configmap", nil), false, true},
		"Unserved":      {"nor from a server without Karmada", apierrors.NewGenericServerResponse(http.StatusNotFound, "GET", gr, "", "404 page not found", 0, true), false, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			client, asked := answering(t, c.answer)
			got, err := isLeftBehind(t.Context(), client, id, types.NamespacedName{Namespace: "shop", Name: "page-configmap"})
			if got != c.want || (err != nil) != c.unknown {
				t.Errorf("%s: %v, %v", c.reason, got, err)
			}
			if want := "/apis/work.karmada.io/v1alpha2/namespaces/shop/resourcebindings/page-configmap"; *asked != want {
				t.Errorf("it requested %s", *asked)
			}
		})
	}
}

func TestIsDoubled(t *testing.T) {
	name := sample.Page.WorkName()
	gr := render.WorksResource.GroupResource()
	work := func(changes ...sample.Change) *unstructured.Unstructured {
		return sample.Work(sample.Asking("1", "m1"), "m1", changes...)
	}
	cases := map[string]struct {
		reason  string
		answer  any
		want    bool
		unknown bool
	}{
		"Bound":       {"a binding owns the Work", work(sample.Bound), true, false},
		"Ours":        {"it is ours", work(), false, false},
		"Overwritten": {"it carries another object", work(sample.Bound, sample.Overwritten), false, false},
		"Terminating": {"it is being deleted", work(sample.Bound, sample.Terminating), false, false},
		"Gone":        {"it does not exist", apierrors.NewNotFound(gr, name), false, false},
		"Forbidden":   {"without the right to read it, nothing is known", apierrors.NewForbidden(gr, name, nil), false, true},
	}
	for title, c := range cases {
		t.Run(title, func(t *testing.T) {
			client, asked := answering(t, c.answer)
			got, err := isDoubled(t.Context(), client, sample.Page, "karmada-es-m1")
			if got != c.want || (err != nil) != c.unknown {
				t.Errorf("%s: %v, %v", c.reason, got, err)
			}
			if want := "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works/" + name; *asked != want {
				t.Errorf("it requested %s", *asked)
			}
		})
	}
}

// TestUnknownBinding: nothing is known about a Work that names no binding.
func TestUnknownBinding(t *testing.T) {
	if isLeft, err := isLeftBehind(t.Context(), nil, sample.Page, types.NamespacedName{}); isLeft || err != nil {
		t.Errorf("got %v, %v", isLeft, err)
	}
}
