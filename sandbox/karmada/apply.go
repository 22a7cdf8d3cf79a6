package karmada

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// fieldManager owns the fields that the sandbox applies.
const fieldManager = "sandbox"

// definitionPatience is how long a server may not know a kind: a kind that the
// previous object defines takes a moment to be served.
const definitionPatience = 20 * time.Second

// Apply server-side applies manifests, a stream of YAML documents, to the
// server of config. An object without a namespace goes to "default" if its
// kind is namespaced. Apply waits for a kind that is not served yet.
func Apply(ctx context.Context, config *rest.Config, manifests []byte) error {
	objects, err := decode(manifests)
	if err != nil {
		return err
	}
	return apply(ctx, config, objects...)
}

// ApplyKustomization applies what `kubectl apply -k dir` would.
func ApplyKustomization(ctx context.Context, config *rest.Config, dir string) error {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return fmt.Errorf("cannot build %q: %w", dir, err)
	}
	manifests, err := resources.AsYaml()
	if err != nil {
		return fmt.Errorf("cannot encode %q: %w", dir, err)
	}
	return Apply(ctx, config, manifests)
}

func decode(manifests []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot decode manifest %d: %w", len(objects)+1, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

func apply(ctx context.Context, config *rest.Config, objects ...*unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("cannot create a client: %w", err)
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("cannot create a client: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer))
	for _, object := range objects {
		mapping, err := mappingOf(ctx, mapper, object)
		if err != nil {
			return err
		}
		var resource dynamic.ResourceInterface = client.Resource(mapping.Resource)
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			namespace := object.GetNamespace()
			if namespace == "" {
				namespace = metav1.NamespaceDefault
			}
			resource = client.Resource(mapping.Resource).Namespace(namespace)
		}
		_, err = resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		if err != nil {
			return fmt.Errorf("cannot apply %s %q: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func mappingOf(ctx context.Context, mapper meta.ResettableRESTMapper, object *unstructured.Unstructured) (*meta.RESTMapping, error) {
	kind := object.GroupVersionKind()
	var mapping *meta.RESTMapping
	var mapErr error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, definitionPatience, true, func(context.Context) (bool, error) {
		mapping, mapErr = mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(mapErr) {
			mapper.Reset()
			return false, nil
		}
		return true, mapErr
	})
	if err != nil {
		// The unknown kind says more than the timeout.
		return nil, fmt.Errorf("cannot find the resource of kind %q: %w", kind.GroupKind(), cmp.Or(mapErr, err))
	}
	return mapping, nil
}
