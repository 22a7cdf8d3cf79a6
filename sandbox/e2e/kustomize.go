package e2e

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Kustomize returns the objects that `kubectl kustomize` would print for a folder.
func Kustomize(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	Must(t, err)
	var objects []*unstructured.Unstructured
	for _, resource := range resources.Resources() {
		data, err := resource.AsYAML()
		Must(t, err)
		u := &unstructured.Unstructured{}
		Must(t, yaml.Unmarshal(data, &u.Object))
		objects = append(objects, u)
	}
	return objects
}

// Mapper maps kinds of the Karmada API server to resources.
func Mapper(t *testing.T) meta.RESTMapper {
	t.Helper()
	groups, err := restmapper.GetAPIGroupResources(Env.Client.Discovery())
	Must(t, err)
	return restmapper.NewDiscoveryRESTMapper(groups)
}
