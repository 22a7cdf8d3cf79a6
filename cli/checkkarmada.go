package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// checkKarmada reports whether it is a Karmada API server, and looks at its clusters.
func (c *checker) checkKarmada(ctx context.Context) (ok bool, err error) {
	c.group("Karmada")
	works := render.WorksResource
	_, served, err := c.resolve(ctx, works.GroupResource(), works.Version)
	switch {
	case err != nil:
		c.fail("see kubectl api-resources", "cannot tell whether it serves Works: %v", err)
		return false, nil
	case !served:
		c.fail(otherCluster, "it is not a Karmada API server: it does not serve works.work.karmada.io")
		return false, nil
	}
	c.pass("it serves Works, %s", works.GroupVersion())
	if err := c.checkWorkFields(ctx); err != nil {
		return false, err
	}
	return true, c.checkClusters(ctx)
}

func (c *checker) resolve(ctx context.Context, gr schema.GroupResource, version string) (watch.Served, bool, error) {
	return resolve(ctx, c.client, gr, version)
}

func resolve(ctx context.Context, client kubernetes.Interface, gr schema.GroupResource, version string) (watch.Served, bool, error) {
	return watch.Discovery{Client: client.Discovery()}.Resolve(ctx, watch.Resource{GroupResource: gr, Version: version})
}

// workFields are the fields of a Work's spec that annotations set, and that an old Karmada
// drops.
var workFields = []string{"suspendDispatching", "preserveResourcesOnDeletion"}

func (c *checker) checkWorkFields(ctx context.Context) error {
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	crd, err := c.dynamic.Resource(definitions).Get(ctx, render.WorksResource.GroupResource().String(), metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		return nil // the rights are looked at below
	}
	if err != nil {
		return fmt.Errorf("cannot read the CustomResourceDefinition of Works: %w", err)
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, field := range workFields {
		if !hasWorkField(versions, field) {
			c.fail("Karmada is too old: docs/reference/versions.md lists the supported versions", "Works have no field spec.%s", field)
		}
	}
	return nil
}

func hasWorkField(versions []any, field string) bool {
	for _, version := range versions {
		v, _ := version.(map[string]any)
		if v["name"] != render.WorksResource.Version {
			continue
		}
		_, found, _ := unstructured.NestedFieldNoCopy(v, "schema", "openAPIV3Schema", "properties", "spec", "properties", field)
		return found
	}
	return false
}

func (c *checker) checkClusters(ctx context.Context) error {
	list, err := c.dynamic.Resource(state.ClustersResource).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil // the rights are looked at below
	case apierrors.IsServiceUnavailable(err), apierrors.IsNotFound(err):
		c.fail("is karmada-aggregated-apiserver running? kubectl get apiservice v1alpha1.cluster.karmada.io", "it does not serve Clusters: %v", err)
		return nil
	case err != nil:
		c.fail(connectionHint(err), "cannot list Clusters: %v", err)
		return nil
	case len(list.Items) == 0:
		c.warn("join one: karmadactl join or karmadactl register", "no cluster has joined")
		return nil
	}
	ready := 0
	for i := range list.Items {
		ok, err := c.checkCluster(ctx, &list.Items[i])
		if err != nil {
			return err
		}
		if ok {
			ready++
		}
	}
	if ready > 0 {
		c.pass("%d of %d clusters are ready", ready, len(list.Items))
	}
	return nil
}

func (c *checker) checkCluster(ctx context.Context, u *unstructured.Unstructured) (ready bool, err error) {
	var cluster clusterv1alpha1.Cluster
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &cluster); err != nil {
		return false, fmt.Errorf("cannot read cluster %q: %w", u.GetName(), err)
	}
	namespace := render.ExecutionNamespace(cluster.Name)
	_, err = c.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		c.fail("is karmada-controller-manager running? It creates the namespace when a cluster joins", "namespace %s of cluster %q is missing", namespace, cluster.Name)
		return false, nil
	}
	if err != nil && !apierrors.IsForbidden(err) {
		return false, fmt.Errorf("cannot read namespace %q: %w", namespace, err)
	}
	condition := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
	if condition == nil || condition.Status != metav1.ConditionTrue {
		c.warn("kubectl describe cluster "+cluster.Name, "cluster %q is not ready: its Works are written, and wait until it is", cluster.Name)
		return false, nil
	}
	return true, nil
}

// checkPolicies looks at whether the override policies are served: without them, the daemon decides nothing.
func (c *checker) checkPolicies(ctx context.Context) {
	for _, r := range []schema.GroupVersionResource{state.PoliciesResource, state.ClusterPoliciesResource} {
		_, served, err := c.resolve(ctx, r.GroupResource(), r.Version)
		if err != nil {
			c.fail("is the API server, or the aggregated one behind it, well?", "cannot tell whether %s is served: %v", r.GroupResource(), err)
		} else if !served {
			c.fail("install Karmada's CustomResourceDefinitions again, or set overridePolicies: Ignore", "nothing is mirrored: the API server does not serve %s, which overridePolicies: Honor needs", r.GroupResource())
		}
	}
}

// checkConfiguration looks at the ConfigMap, and at each resource in it.
func (c *checker) checkConfiguration(ctx context.Context) (err error) {
	c.group("Configuration")
	c.view, err = readView(ctx, c.client, c.configMap)
	if err == nil {
		err = c.view.mistake
	}
	switch {
	case apierrors.IsNotFound(err):
		c.fail("kubectl apply --server-side -k manifests/karmada, or give --config-map", "ConfigMap %s is missing", c.configMap)
		return nil
	case apierrors.IsForbidden(err):
		c.warn("ask for the ClusterRole karmada-mirror-tenant", "you may not read ConfigMap %s", c.configMap)
		return nil
	case err != nil:
		c.fail("correct the ConfigMap, and try it with karmada-mirror validate -f FILE; until then, a replica that leads keeps the last good one, and none begins to lead", "%v", err)
		return nil
	}
	c.configuration = c.view.configuration
	c.pass("ConfigMap %s is valid: %d resources", c.configMap, len(c.configuration.Resources))
	for _, key := range c.view.ignored {
		c.warn("let its name end in .yaml", "the key %q of ConfigMap %s is no part of the configuration: it is ignored", key, c.configMap)
	}
	if c.configuration.HonorsPolicies() {
		c.checkPolicies(ctx)
	}
	for _, r := range c.configuration.Resources {
		if err := c.checkResource(ctx, r.GroupResource(), r.Version); err != nil {
			return err
		}
		if !r.AggregateStatus {
			continue
		}
		if err := c.checkStatusRight(ctx, r.GroupResource()); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) checkResource(ctx context.Context, gr schema.GroupResource, version string) error {
	served, ok, err := c.resolve(ctx, gr, version)
	switch {
	case errors.Is(err, watch.ErrNotWatchable):
		c.fail("remove it from the configuration", "%v", err)
		return nil
	case err != nil:
		c.fail("see kubectl api-resources: an aggregated API may be down", "cannot tell whether it serves %s: %v", gr, err)
		return nil
	case !ok:
		c.warn("correct its group, version or plural (kubectl api-resources), or install its CustomResourceDefinition: the daemon then picks it up", "%s is not served%s", resourceName(gr, version), suggest(c.client.Discovery(), gr))
		return nil
	}
	if c.user == (user{}) {
		c.pass("%s is served", resourceName(gr, served.Resource.Version))
		return nil
	}
	missing, err := right{verbs: []string{"get", "list", "watch"}, GroupResource: gr}.missing(ctx, c.user)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		hint, err := c.hintOfRight(ctx, gr)
		if err != nil {
			return err
		}
		c.fail(hint, "may not %s %s", strings.Join(missing, ", "), gr)
		return nil
	}
	c.pass("%s is served and may be read", resourceName(gr, served.Resource.Version))
	return nil
}

// checkStatusRight reports whether the statuses of a resource may be written.
func (c *checker) checkStatusRight(ctx context.Context, gr schema.GroupResource) error {
	gr.Resource += "/status"
	return c.checkRights(ctx, []right{{verbs: []string{"patch"}, GroupResource: gr}},
		"add a ClusterRole with patch on it and the label "+aggregationLabel+`: "true", as manifests/components/aggregate-status does`)
}

// aggregationLabel marks the ClusterRoles that grant the daemon rights on a resource.
const aggregationLabel = "rbac.karmada.target/aggregate-to-karmada-mirror"

// hintOfRight says what to do if the daemon may not read a resource: there may be a ClusterRole
// for it that has not been aggregated. The daemon's own user may not look for one.
func (c *checker) hintOfRight(ctx context.Context, gr schema.GroupResource) (string, error) {
	const (
		add       = "kubectl apply --server-side -k manifests/karmada, or, for a resource of your own, add a ClusterRole with get, list and watch on it and the label " + aggregationLabel + `: "true"`
		aggregate = "is Karmada's kube-controller-manager running, with the controller clusterrole-aggregation (--controllers)?"
	)
	roles, err := c.own.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{LabelSelector: aggregationLabel + "=true"})
	switch {
	case apierrors.IsForbidden(err):
		return add + ". If there is one (you may not list them), it has not been aggregated yet: " + aggregate, nil
	case err != nil:
		return "", fmt.Errorf("cannot list the ClusterRoles: %w", err)
	}
	for _, role := range roles.Items {
		if grantsReading(role.Rules, gr) {
			return fmt.Sprintf("ClusterRole %s grants it, but has not been aggregated yet: %s", role.Name, aggregate), nil
		}
	}
	return add, nil
}

// grantsReading reports whether rules grant reading and watching all objects of a resource.
func grantsReading(rules []rbacv1.PolicyRule, gr schema.GroupResource) bool {
	has := func(list []string, all, want string) bool {
		return slices.Contains(list, want) || slices.Contains(list, all)
	}
	for _, verb := range []string{"get", "list", "watch"} {
		if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
			return has(r.Verbs, rbacv1.VerbAll, verb) && has(r.APIGroups, rbacv1.APIGroupAll, gr.Group) && has(r.Resources, rbacv1.ResourceAll, gr.Resource) && len(r.ResourceNames) == 0
		}) {
			return false
		}
	}
	return true
}

func resourceName(gr schema.GroupResource, version string) string {
	if version == "" {
		return gr.String()
	}
	return gr.String() + ", " + gr.WithVersion(version).GroupVersion().String()
}
