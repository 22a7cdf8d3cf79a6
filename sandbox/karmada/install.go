package karmada

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// The namespaces that Karmada expects: one for its components, one for the
// credentials and leases of members.
const (
	systemNamespace  = "karmada-system"
	clusterNamespace = "karmada-cluster"
)

// installDefinitions applies what Karmada's components need before they start:
// namespaces, custom resources, and the aggregated roles of tenants.
func (k *Karmada) installDefinitions(ctx context.Context) error {
	objects := []*unstructured.Unstructured{object("v1", "Namespace", systemNamespace), object("v1", "Namespace", clusterNamespace)}
	roles, err := k.sources("artifacts/deploy/admin-clusterrole-aggregation.yaml")
	if err != nil {
		return err
	}
	definitions, err := k.sources("charts/karmada/_crds/bases/*/*.yaml")
	if err != nil {
		return err
	}
	// Skip the patches that let the webhook convert between versions of
	// bindings: they need an address that is not known yet, and nothing reads
	// the old version.
	if err := apply(ctx, k.server.config, append(append(objects, definitions...), roles...)...); err != nil {
		return err
	}
	k.say("%d custom resources are defined", len(definitions))
	var names []string
	for _, definition := range definitions {
		names = append(names, definition.GetName())
	}
	return k.waitCondition(ctx, k.server.config, schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, "Established", names...)
}

// installClusterAPI makes the Karmada API server forward requests for Clusters
// to karmada-aggregated-apiserver. It rejects an address in an APIService, so a
// Service of type ExternalName stands in for one.
func (k *Karmada) installClusterAPI(ctx context.Context, port int) error {
	service := object("v1", "Service", AggregatedAPIServer)
	service.SetNamespace(systemNamespace)
	service.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
	const name = "v1alpha1.cluster.karmada.io"
	registration := object("apiregistration.k8s.io/v1", "APIService", name)
	registration.Object["spec"] = map[string]any{
		"group": "cluster.karmada.io", "version": "v1alpha1",
		"groupPriorityMinimum": int64(2000), "versionPriority": int64(10),
		"caBundle": base64.StdEncoding.EncodeToString(k.server.authority.pem),
		"service":  map[string]any{"namespace": systemNamespace, "name": AggregatedAPIServer, "port": int64(port)},
	}
	if err := apply(ctx, k.server.config, service, registration); err != nil {
		return err
	}
	return k.waitCondition(ctx, k.server.config, schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}, "Available", name)
}

// installWebhooks makes the Karmada API server call karmada-webhook.
func (k *Karmada) installWebhooks(ctx context.Context, port int) error {
	configurations, err := k.sources("artifacts/deploy/webhook-configuration.yaml",
		"https://karmada-webhook.karmada-system.svc:443", httpsURL(port),
		"{{caBundle}}", base64.StdEncoding.EncodeToString(k.server.authority.pem),
	)
	if err != nil {
		return err
	}
	return apply(ctx, k.server.config, configurations...)
}

// sources reads manifests of the Karmada module, and replaces strings in them
// by the pairs in oldnew.
func (k *Karmada) sources(pattern string, oldnew ...string) ([]*unstructured.Unstructured, error) {
	paths, err := filepath.Glob(filepath.Join(k.options.Programs.Karmada, filepath.FromSlash(pattern)))
	if err != nil {
		return nil, fmt.Errorf("cannot look for %q: %w", pattern, err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("cannot find %q in %q: %w", pattern, k.options.Programs.Karmada, os.ErrNotExist)
	}
	replacer := strings.NewReplacer(oldnew...)
	var all []*unstructured.Unstructured
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("cannot read a manifest: %w", err)
		}
		objects, err := decode([]byte(replacer.Replace(string(content))))
		if err != nil {
			return nil, fmt.Errorf("cannot use %q: %w", path, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

// waitCondition waits until all objects have a condition with status True.
func (k *Karmada) waitCondition(ctx context.Context, config *rest.Config, resource schema.GroupVersionResource, condition string, names ...string) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("cannot create a client: %w", err)
	}
	for _, name := range names {
		err := k.Wait(ctx, fmt.Sprintf("%s %q to be %s", resource.Resource, name, condition), func(ctx context.Context) error {
			observed, err := client.Resource(resource).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			return hasCondition(observed, condition)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func hasCondition(observed *unstructured.Unstructured, condition string) error {
	conditions, _, err := unstructured.NestedSlice(observed.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, c := range conditions {
		c, ok := c.(map[string]any)
		if ok && c["type"] == condition {
			if c["status"] == string(metav1.ConditionTrue) {
				return nil
			}
			return fmt.Errorf("%s is %v: %v", condition, c["status"], c["message"])
		}
	}
	return fmt.Errorf("it has no condition %s", condition)
}

func object(apiVersion, kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetName(name)
	return o
}
