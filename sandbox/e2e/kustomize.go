package e2e

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Kustomize returns the objects that `kubectl kustomize` would print for a folder.
func Kustomize(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, resource := range resources.Resources() {
		data, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &u.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, u)
	}
	return objects
}

// Mapper maps kinds of the Karmada API server to resources.
func Mapper(t *testing.T) meta.RESTMapper {
	t.Helper()
	return mapperOf(t, Env.Config())
}

func mapperOf(t *testing.T, config *rest.Config) meta.RESTMapper {
	t.Helper()
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	Must(t, err)
	groups, err := restmapper.GetAPIGroupResources(discoverer)
	Must(t, err)
	return restmapper.NewDiscoveryRESTMapper(groups)
}

// WantAbsent fails the test if a server has any of the objects, Namespaces aside.
func WantAbsent(t *testing.T, config *rest.Config, objects []*unstructured.Unstructured) {
	t.Helper()
	mapper := mapperOf(t, config)
	client := dynamic.NewForConfigOrDie(config)
	for _, object := range objects {
		if object.GetKind() == "Namespace" {
			continue
		}
		gvk := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		Must(t, err)
		if mapping.Scope.Name() == meta.RESTScopeNameRoot {
			object.SetNamespace("")
		}
		_, err = client.Resource(mapping.Resource).Namespace(object.GetNamespace()).Get(t.Context(), object.GetName(), metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("%s %s still exists: %v", object.GetKind(), object.GetName(), err)
		}
	}
}
