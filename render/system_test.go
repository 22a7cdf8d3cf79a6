package render

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

func TestSystemOf(t *testing.T) {
	cases := map[string]struct {
		reason                        string
		apiVersion, kind, name, typed string
		want                          System
	}{
		"RootCertificate": {"each cluster has its own", "v1", "ConfigMap", "kube-root-ca.crt", "", SystemOwn},
		"ConfigMap":       {"a user's", "v1", "ConfigMap", "settings", "", NotSystem},
		"OtherGroup":      {"another project's kind", "example.com/v1", "ConfigMap", "kube-root-ca.crt", "", NotSystem},
		"Token":           {"a member fills in its own", "v1", "Secret", "token", "kubernetes.io/service-account-token", SystemRecord},
		"OddToken":        {"another project's kind", "example.com/v1", "Secret", "token", "kubernetes.io/service-account-token", NotSystem},
		"Helm":            {"what Helm has installed here", "v1", "Secret", "sh.helm.release.v1.web.v1", "helm.sh/release.v1", SystemRecord},
		"Secret":          {"a user's", "v1", "Secret", "password", "Opaque", NotSystem},
		"ServiceAccount":  {"every namespace has one", "v1", "ServiceAccount", "default", "", SystemEverywhere},
		"Server":          {"clients of a member would be led away from its API server", "v1", "Service", "default/kubernetes", "", SystemOwn},
		"Service":         {"a user's", "v1", "Service", "shop/kubernetes", "", NotSystem},
		"OtherAccount":    {"a user's", "v1", "ServiceAccount", "web", "", NotSystem},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": tc.apiVersion, "kind": tc.kind}}
			namespace, name, err := cache.SplitMetaNamespaceKey(tc.name)
			if err != nil {
				t.Fatal(err)
			}
			u.SetNamespace(namespace)
			u.SetName(name)
			if tc.typed != "" {
				u.Object["type"] = tc.typed
			}
			if got := SystemOf(u); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}
