package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestReplicasPath: each version of a definition says by itself how its objects are scaled.
func TestReplicasPath(t *testing.T) {
	version := func(name string, served bool, subresources any) any {
		return map[string]any{"name": name, "served": served, "subresources": subresources}
	}
	scale := func(path any) any { return map[string]any{"scale": map[string]any{"specReplicasPath": path}} }
	cases := map[string]struct {
		reason string
		spec   any
		want   map[string]string
	}{
		"One":           {"the usual definition", map[string]any{"versions": []any{version("v1", true, scale(".spec.replicas"))}}, map[string]string{"v1": ".spec.replicas"}},
		"Different":     {"a version may have its own path", map[string]any{"versions": []any{version("v1", true, scale(".spec.replicas")), version("v2", true, scale(".spec.pods.count"))}}, map[string]string{"v1": ".spec.replicas", "v2": ".spec.pods.count"}},
		"SomeVersions":  {"a version may have none", map[string]any{"versions": []any{version("v1", true, nil), version("v2", true, scale(".spec.size"))}}, map[string]string{"v2": ".spec.size"}},
		"NotServed":     {"no object is read in a version that is not served", map[string]any{"versions": []any{version("v1", false, scale(".spec.replicas"))}}, nil},
		"StatusOnly":    {"another subresource", map[string]any{"versions": []any{version("v1", true, map[string]any{"status": map[string]any{}})}}, nil},
		"EmptyPath":     {"the API server would reject it", map[string]any{"versions": []any{version("v1", true, scale(""))}}, nil},
		"NoText":        {"the API server would reject it", map[string]any{"versions": []any{version("v1", true, scale(int64(1)))}}, nil},
		"OddVersion":    {"the API server would reject it", map[string]any{"versions": []any{"v1", nil}}, nil},
		"OddVersions":   {"the API server would reject it", map[string]any{"versions": "v1"}, nil},
		"AnAPIService":  {"it has one version and no subresources", map[string]any{"version": "v1", "group": "example.io"}, nil},
		"WithoutASpec":  {"the API server would reject it", nil, nil},
		"SpecIsNoField": {"the API server would reject it", "x", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: map[string]any{"spec": tc.spec}}
			u.SetName("widgets.example.io")
			d := NewDefinition(u)
			for _, d := range []*Definition{d, d.DeepCopyObject().(*Definition)} {
				if diff := cmp.Diff(tc.want, d.replicasPaths); diff != "" {
					t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
				}
				for _, version := range []string{"v1", "v2", ""} {
					if got := d.ReplicasPath(version); got != tc.want[version] {
						t.Errorf("%s: the path of version %q is %q", tc.reason, version, got)
					}
				}
			}
		})
	}
}
