package karmada

import (
	"errors"
	"maps"
	"slices"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// policies is what [Karmada.Propagate] creates.
var policies = schema.GroupResource{Group: policyv1alpha1.GroupName, Resource: policyv1alpha1.ResourcePluralPropagationPolicy}

// Propagate creates a policy for a source, which claims it as [Karmada.Claim] does.
func (k *Karmada) Propagate(source apiserver.Ref, names ...string) error {
	const id = "policy-id"
	targets := make([]any, len(names))
	for i, name := range names {
		targets[i] = name
	}
	policy := Object{
		"metadata": Object{"name": "policy", "namespace": source.Namespace, "labels": Object{policyv1alpha1.PropagationPolicyPermanentIDLabel: id}},
		"spec":     Object{"placement": Object{"clusterAffinity": Object{"clusterNames": targets}}},
	}
	_, err := k.control.Create(policies, policy)
	claimed := func(o Object) {
		merge(o, "labels", map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: id})
	}
	_, labelErr := k.control.Modify(source, "", claimed)
	if err := errors.Join(err, labelErr, k.Claim(source, names...)); err != nil {
		return err
	}
	k.mu.Lock()
	c := k.claims[source]
	c.policy = apiserver.Ref{Resource: policies, Namespace: source.Namespace, Name: "policy"}
	k.claims[source] = c
	k.mu.Unlock()
	_, err = k.control.Modify(c.binding, "", claimed)
	return err
}

// follow is the detector for a policy: the binding preserves what the policy does, and stays behind, without a policy, once it
// is deleted.
func (k *Karmada) follow(source apiserver.Ref, c claim) error {
	if c.policy.Name == "" {
		return nil
	}
	policy := k.control.Get(c.policy)
	if policy == nil {
		unclaimed := func(o Object) { without(o, []string{c.policyLabel}, slices.Collect(maps.Keys(c.policyAnnotations))) }
		_, bindingErr := k.control.Modify(c.binding, "", unclaimed)
		_, err := k.control.Modify(source, "", unclaimed)
		return errors.Join(ignoreNotFound(bindingErr), ignoreNotFound(err))
	}
	preserves := objectAt(policy, "spec")["preserveResourcesOnDeletion"] == true
	_, err := k.control.Modify(c.binding, "", func(o Object) { objectAt(o, "spec")["preserveResourcesOnDeletion"] = preserves })
	return ignoreNotFound(err)
}
