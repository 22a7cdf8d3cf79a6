package e2e

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// InstallBlobs installs a custom resource that takes any content on Karmada and one
// member, and lets the daemon read it.
func InstallBlobs(t *testing.T, group string) schema.GroupVersionResource {
	t.Helper()
	gvr := ApplyBlobs(t, group, "")
	t.Cleanup(func() {
		_ = Env.Admin.Resource(Definitions).Delete(context.Background(), gvr.GroupResource().String(), metav1.DeleteOptions{})
	})
	Eventually(t, "the resource to be served", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(gvr).List(ctx, metav1.ListOptions{})
		return err
	})
	return gvr
}

// ApplyBlobs applies that definition, with a piece of YAML added to its spec.
func ApplyBlobs(t *testing.T, group, more string) schema.GroupVersionResource {
	t.Helper()
	definition := fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: blobs.%[1]s}
spec:
  group: %[1]s
  names: {kind: Blob, listKind: BlobList, plural: blobs, singular: blob}
  scope: Namespaced
%[2]s
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, group, more)
	rights := fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: blobs.%[1]s
  labels: {rbac.karmada.target/aggregate-to-karmada-mirror: "true"}
rules:
- {apiGroups: [%[1]s], resources: [blobs], verbs: [get, list, watch]}
`, group)
	// The API server prefers the newer version, and so does the daemon.
	gvr := schema.GroupVersionResource{Group: group, Version: "v2", Resource: "blobs"}
	for _, text := range []string{definition, rights} {
		if err := karmada.Apply(t.Context(), Env.Config(), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := karmada.Apply(t.Context(), Env.MemberConfig(Push), []byte(definition)); err != nil {
		t.Fatal(err)
	}
	return gvr
}

// Blob makes an object of that custom resource.
func Blob(group, namespace, name, clusters string, content any) *unstructured.Unstructured {
	u := Object(group+"/v2", "Blob", namespace, name, map[string]any{"content": content})
	u.SetAnnotations(map[string]string{render.ClustersAnnotation: clusters})
	return u
}
