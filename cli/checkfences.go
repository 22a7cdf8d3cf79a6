package cli

import (
	"context"
	"fmt"
	"slices"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// The ValidatingAdmissionPolicies, and the bindings of them: who may mirror where, and what is a
// mistake.
const (
	policyName         = "karmada-mirror"
	spellingPolicyName = policyName + "-spelling"
)

// checkFences looks for ways past the verb mirror. The daemon itself need not see them.
func (c *checker) checkFences(ctx context.Context) error {
	if err := c.checkAdmission(ctx); err != nil {
		return err
	}
	if err := c.checkTenants(ctx); err != nil {
		return err
	}
	if c.configuration == nil {
		return nil
	}
	for _, warning := range c.configuration.Warnings() {
		c.warn("docs/how-to/let-tenants-mirror.md", "%s", warning)
	}
	return c.checkAggregated(ctx)
}

// checkAdmission looks for the policy that asks who may mirror where. The daemon itself
// need not see it.
func (c *checker) checkAdmission(ctx context.Context) error {
	const hint = "kubectl apply --server-side -k manifests/karmada installs it; without it, say in the configuration's authorization who may mirror where"
	switch err := c.isBound(ctx, policyName); {
	case apierrors.IsForbidden(err):
	case apierrors.IsNotFound(err) && (c.configuration == nil || c.configuration.Authorization == nil):
		c.warn(hint, "nobody is asked who may mirror where: there is no ValidatingAdmissionPolicy %s, or it is not bound", policyName)
	case apierrors.IsNotFound(err):
		c.pass("the configuration says who may mirror where")
	case err != nil:
		return fmt.Errorf("cannot read the ValidatingAdmissionPolicy: %w", err)
	default:
		c.pass("whoever annotates is asked whether they may mirror there")
	}
	switch err := c.isBound(ctx, spellingPolicyName); {
	case apierrors.IsForbidden(err):
	case apierrors.IsNotFound(err):
		c.warn("kubectl apply --server-side -k manifests/karmada installs it", "an annotation that is misspelled is without effect, and not refused: there is no ValidatingAdmissionPolicy %s, or it is not bound", spellingPolicyName)
	case err != nil:
		return fmt.Errorf("cannot read the ValidatingAdmissionPolicy: %w", err)
	default:
		c.pass("annotations that are misspelled are refused")
	}
	return nil
}

// isBound returns an error if there is no admission policy of that name, or no binding of it.
func (c *checker) isBound(ctx context.Context, name string) error {
	admission := c.client.AdmissionregistrationV1()
	_, err := admission.ValidatingAdmissionPolicies().Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		_, err = admission.ValidatingAdmissionPolicyBindings().Get(ctx, name, metav1.GetOptions{})
	}
	return err
}

// tenantRoles are the ClusterRoles of Kubernetes that are given to tenants, and to which
// Karmada adds its own.
var tenantRoles = []string{"edit", "admin"}

// checkTenants looks whether those may write policies, or what comes of policies: whoever may
// needs no annotation, and is asked for nothing.
func (c *checker) checkTenants(ctx context.Context) error {
	for _, name := range tenantRoles {
		role, err := c.client.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			continue
		case err != nil:
			return fmt.Errorf("cannot read ClusterRole %q: %w", name, err)
		}
		if slices.ContainsFunc(role.Rules, propagates) {
			c.warn("give tenants a Role of their own (docs/how-to/let-tenants-mirror.md)", "whoever has ClusterRole %s may propagate anything to every cluster, without the verb mirror: Karmada adds policies and Works to it", name)
			return nil
		}
	}
	return nil
}

// propagates reports whether a rule lets somebody have Karmada carry something to a member.
func propagates(rule rbacv1.PolicyRule) bool {
	writes := slices.ContainsFunc(rule.Verbs, func(verb string) bool { return slices.Contains([]string{"*", "create", "update", "patch"}, verb) })
	groups := []string{"*", policyv1alpha1.GroupName, render.WorksResource.Group}
	return writes && slices.ContainsFunc(rule.APIGroups, func(group string) bool { return slices.Contains(groups, group) })
}

// checkAggregated looks for configured resources that another API server serves, which asks
// no admission policy of this one.
func (c *checker) checkAggregated(ctx context.Context) error {
	if c.configuration.Authorization != nil {
		return nil
	}
	list, err := c.dynamic.Resource(state.APIServicesResource).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil // the rights are looked at above
	case err != nil:
		return fmt.Errorf("cannot list the APIServices: %w", err)
	}
	aggregated := map[string]bool{}
	for _, service := range list.Items {
		if _, isElsewhere, _ := unstructured.NestedMap(service.Object, "spec", "service"); isElsewhere {
			group, _, _ := unstructured.NestedString(service.Object, "spec", "group")
			aggregated[group] = true
		}
	}
	for _, r := range c.configuration.Resources {
		if aggregated[r.Group] {
			c.warn("say in the configuration's authorization who may mirror where", "%s is served by an aggregated API server: no admission policy sees what is written there", r.GroupResource())
		}
	}
	return nil
}
