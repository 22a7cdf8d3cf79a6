package cli

import (
	"context"
	"errors"
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

// The names of the ValidatingAdmissionPolicies and of their bindings: one enforces who may mirror
// where, the others keep the Lease, the marks on Works and what shows that one is applied from agents of other
// clusters, and reject misspelled annotations.
const (
	policyName         = "karmada-mirror"
	eventsPolicyName   = policyName + "-events"
	leasePolicyName    = policyName + "-lease"
	worksPolicyName    = policyName + "-works"
	spellingPolicyName = policyName + "-spelling"
)

// checkFences looks for ways around the verb mirror. The daemon itself need not see them.
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
	for _, warning := range c.configuration.Warnings() { // what an aggregated API server serves is looked at
		c.warn("docs/how-to/let-tenants-mirror.md", "%s", warning)
	}
	return c.checkAggregated(ctx)
}

// checkAdmission looks for the policy that enforces who may mirror where. The daemon itself
// need not see it.
func (c *checker) checkAdmission(ctx context.Context) error {
	const hint = "install it: kubectl apply --server-side -k manifests/karmada; or restrict mirroring by the configuration's authorization"
	switch err := c.isBound(ctx, policyName); {
	case apierrors.IsForbidden(err):
	case apierrors.IsNotFound(err) && (c.configuration == nil || c.configuration.Authorization == nil):
		c.warn(hint, "mirroring permissions are not enforced: ValidatingAdmissionPolicy %s is missing or not bound", policyName)
	case apierrors.IsNotFound(err):
		c.pass("mirroring is restricted by the configuration's authorization")
	case err != nil:
		return fmt.Errorf("cannot read the ValidatingAdmissionPolicy: %w", err)
	default:
		c.pass("users need the verb mirror on the clusters that they name")
	}
	return errors.Join(
		c.checkPolicy(ctx, leasePolicyName, "only those with the verb lead write the Lease", "an agent of a member cluster can end mirroring, because Karmada lets it write all Leases"),
		c.checkPolicy(ctx, worksPolicyName, "agents of member clusters write no more of the Works than they need to", "an agent of a member cluster can forge Works, which holds up deletions in other clusters"),
		c.checkPolicy(ctx, eventsPolicyName, "agents of member clusters report on the Works of their own cluster only", "an agent of a member cluster can report that Works of other clusters are applied, which rollouts in waves wait for"),
		c.checkPolicy(ctx, spellingPolicyName, "misspelled annotations are rejected", "misspelled annotations are ignored, not rejected"),
	)
}

// checkPolicy says what follows from a policy, or from its absence.
func (c *checker) checkPolicy(ctx context.Context, name, held, otherwise string) error {
	switch err := c.isBound(ctx, name); {
	case apierrors.IsForbidden(err):
	case apierrors.IsNotFound(err):
		c.warn("install it: kubectl apply --server-side -k manifests/karmada", "%s: ValidatingAdmissionPolicy %s is missing or not bound", otherwise, name)
	case err != nil:
		return fmt.Errorf("cannot read the ValidatingAdmissionPolicy: %w", err)
	default:
		c.pass("%s", held)
	}
	return nil
}

// isBound returns an error if the admission policy of that name or its binding is missing.
func (c *checker) isBound(ctx context.Context, name string) error {
	admission := c.client.AdmissionregistrationV1()
	_, err := admission.ValidatingAdmissionPolicies().Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		_, err = admission.ValidatingAdmissionPolicyBindings().Get(ctx, name, metav1.GetOptions{})
	}
	return err
}

// tenantRoles are the ClusterRoles of Kubernetes that tenants usually have, and to which
// Karmada adds rights of its own.
var tenantRoles = []string{"edit", "admin"}

// checkTenants looks whether these roles may write policies, or what policies lead to: that
// takes neither an annotation nor the verb mirror.
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
			c.warn("give tenants a Role of their own (docs/how-to/let-tenants-mirror.md)", "anyone with ClusterRole %s can propagate anything to every cluster, without the verb mirror: Karmada adds policies and Works to it", name)
			return nil
		}
	}
	return nil
}

// propagates reports whether a rule allows a user to have Karmada propagate objects to members.
func propagates(rule rbacv1.PolicyRule) bool {
	writes := slices.ContainsFunc(rule.Verbs, func(verb string) bool { return slices.Contains([]string{"*", "create", "update", "patch"}, verb) })
	groups := []string{"*", policyv1alpha1.GroupName, render.WorksResource.Group}
	return writes && slices.ContainsFunc(rule.APIGroups, func(group string) bool { return slices.Contains(groups, group) })
}

// checkAggregated looks for configured resources that another API server serves, which runs
// none of this one's admission policies.
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
			c.warn("restrict mirroring by the configuration's authorization", "%s is served by an aggregated API server: admission policies do not see writes to it", r.GroupResource())
		}
	}
	return nil
}
