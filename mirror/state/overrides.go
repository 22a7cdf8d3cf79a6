package state

import (
	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render/override"
)

// The resources of Karmada's override policies.
var (
	PoliciesResource        = schema.GroupVersion(policyv1alpha1.GroupVersion).WithResource(policyv1alpha1.ResourcePluralOverridePolicy)
	ClusterPoliciesResource = schema.GroupVersion(policyv1alpha1.GroupVersion).WithResource(policyv1alpha1.ResourcePluralClusterOverridePolicy)
)

// The kinds of Karmada's override policies.
var (
	PolicyKind        = schema.GroupVersion(policyv1alpha1.GroupVersion).WithKind(policyv1alpha1.ResourceKindOverridePolicy).GroupKind()
	ClusterPolicyKind = schema.GroupVersion(policyv1alpha1.GroupVersion).WithKind(policyv1alpha1.ResourceKindClusterOverridePolicy).GroupKind()
)

// PolicyResources are the resources of override policies.
func PolicyResources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{PoliciesResource, ClusterPoliciesResource}
}

// Policy is what the cache keeps of an override policy.
type Policy struct {
	Meta
	// Override is what the policy changes. If the policy cannot be read, it is what the policy
	// selects, or nil if not even that can be read.
	Override *override.Policy
	// Fault is why the policy cannot be read; empty if it can.
	Fault string
}

// NewPolicy reduces an override policy to what the cache keeps of it.
func NewPolicy(u *unstructured.Unstructured) *Policy {
	bare := Policy{Meta: keepMeta(u)}
	return guarded(
		func() *Policy { return readPolicy(u, bare) },
		func(cause string) *Policy { bare.Fault = cause; return &bare })
}

func readPolicy(u *unstructured.Unstructured, bare Policy) *Policy {
	p := &bare
	read, err := override.NewPolicy(u)
	if err == nil {
		p.Override = read
		return p
	}
	p.Fault = err.Error()
	// A newer version of Karmada may know more overriders: that concerns only what is selected.
	selectors, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "resourceSelectors")
	selecting := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"resourceSelectors": selectors}}}
	if selectors == nil {
		selecting.Object["spec"] = map[string]any{}
	}
	selecting.SetGroupVersionKind(u.GroupVersionKind())
	selecting.SetNamespace(u.GetNamespace())
	selecting.SetName(u.GetName())
	if read, err := override.NewPolicy(selecting); err == nil {
		p.Override = read
	}
	return p
}

// Note is the name by which Works note the policy.
func (p *Policy) Note() string {
	kind := PolicyKind.Kind
	if p.Namespace == "" {
		kind = ClusterPolicyKind.Kind
	}
	return kind + "/" + p.Name
}

// MaySelect reports whether the policy selects an object that has suitable labels and is read in
// a suitable version.
func (p *Policy) MaySelect(kind, namespace, name string) bool {
	if p.Override == nil {
		return p.Namespace == "" || p.Namespace == namespace
	}
	return p.Override.MaySelect(kind, namespace, name)
}

// Selects reports whether the policy selects an object.
func (p *Policy) Selects(o override.Object) bool {
	if p.Override == nil {
		return p.Namespace == "" || p.Namespace == o.Namespace
	}
	return p.Override.Selects(o)
}

// Distinguishes reports whether the policy changes other objects on a cluster after a change of
// what that says about itself.
func (p *Policy) Distinguishes(before, after *Cluster) bool {
	return p.Fault == "" && p.Override.Distinguishes(before.Member.Overridden(), after.Member.Overridden())
}

// DeepCopyObject implements runtime.Object.
func (p *Policy) DeepCopyObject() runtime.Object { return new(*p) }
