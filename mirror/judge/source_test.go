package judge

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestNewSource: objects of a cluster's own system are not mirrored, no matter who asks.
func TestNewSource(t *testing.T) {
	m1 := sample.Annotations{render.ClustersAnnotation: "m1"}
	object := func(apiVersion, kind, namespace, name string, wishes sample.Annotations) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetAPIVersion(apiVersion)
		u.SetKind(kind)
		u.SetNamespace(namespace)
		u.SetName(name)
		u.SetAnnotations(wishes)
		return u
	}
	release := func(wishes sample.Annotations) *unstructured.Unstructured {
		u := object("v1", "Secret", "shop", "sh.helm.release.v1.page.v1", wishes)
		u.Object["type"] = "helm.sh/release.v1"
		return u
	}
	cases := map[string]struct {
		reason   string
		object   *unstructured.Unstructured
		defaults sample.Annotations
		asks     bool
		refused  Reason
	}{
		"Asks":             {"an ordinary object", object("v1", "ConfigMap", "shop", "page", m1), nil, true, ""},
		"Inherits":         {"or one in a Namespace that asks", object("v1", "ConfigMap", "shop", "page", nil), m1, true, ""},
		"DoesNotAsk":       {"no one asks for it", object("v1", "ConfigMap", "shop", "page", nil), nil, false, ""},
		"RootCertificate":  {"every Namespace has its cluster's own", object("v1", "ConfigMap", "shop", "kube-root-ca.crt", m1), nil, true, ForbiddenResource},
		"NotInherited":     {"a Namespace's default does not cover it", object("v1", "ConfigMap", "shop", "kube-root-ca.crt", nil), m1, false, ""},
		"Release":          {"Helm's records are about this cluster only", release(nil), m1, false, ""},
		"ReleaseAskedFor":  {"unless the record itself asks", release(m1), nil, true, ""},
		"ReleaseAndBeyond": {"then its Namespace's defaults apply too", release(sample.Annotations{render.ClustersAnnotation: "m2"}), m1, true, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := NewSource(tc.object, render.ReadWishes(tc.defaults))
			var refused Reason
			if s.Refusal != nil {
				refused = s.Refusal.Reason
			}
			if s.Asks != tc.asks || refused != tc.refused || (s.Template != nil) != (tc.asks && tc.refused == "") {
				t.Errorf("%s: asks %v, refused %q, a template %v", tc.reason, s.Asks, refused, s.Template != nil)
			}
		})
	}
}

// TestFaultySource: an object that no Work can be made from asks, and is refused for that.
func TestFaultySource(t *testing.T) {
	u := sample.Asking("1", "m1")
	u.SetName(strings.Repeat("x", 300))
	s := NewSource(u, render.Wishes{})
	if !s.Asks || s.Template != nil || s.Unread || s.Refusal == nil || s.Refusal.Reason != RenderFailed {
		t.Errorf("got %+v", s)
	}
}
