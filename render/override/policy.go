package override

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Policy is an OverridePolicy or a ClusterOverridePolicy, parsed. It is immutable.
type Policy struct {
	kind, namespace, name string
	// selectors select its objects; none select every object.
	selectors []selector
	rules     []rule
}

// rule is what a policy changes on some clusters.
type rule struct {
	// field is the field of the policy that holds the overriders.
	field      string
	target     target
	overriders policyv1alpha1.Overriders
	// onLabels are those of the overriders that can change the labels of an object.
	onLabels policyv1alpha1.Overriders
	// key is the digest of the overriders.
	key string
}

// NewPolicy parses a policy. An error names it: what cannot be decoded, has a field that
// this version does not know, or would make Karmada panic.
func NewPolicy(u *unstructured.Unstructured) (*Policy, error) {
	p := &Policy{kind: u.GetKind(), namespace: u.GetNamespace(), name: u.GetName()}
	if err := p.parse(u); err != nil {
		return nil, fmt.Errorf("cannot decode %s: %w", p, err)
	}
	return p, nil
}

// String returns the kind and the name: OverridePolicy/web or ClusterOverridePolicy/web.
func (p *Policy) String() string { return p.kind + "/" + p.name }

// Namespace is empty for a ClusterOverridePolicy.
func (p *Policy) Namespace() string { return p.namespace }

func (p *Policy) parse(u *unstructured.Unstructured) error {
	isWide := p.kind == policyv1alpha1.ResourceKindClusterOverridePolicy
	if u.GetAPIVersion() != policyv1alpha1.GroupVersion.String() || !isWide && p.kind != policyv1alpha1.ResourceKindOverridePolicy {
		return errors.New("it is not an OverridePolicy or ClusterOverridePolicy of " + policyv1alpha1.GroupVersion.String())
	}
	if p.name == "" || isWide != (p.namespace == "") {
		return errors.New("it lacks a name, or its namespace does not fit its kind")
	}
	spec, err := decodeSpec(u.Object["spec"])
	if err != nil {
		return err
	}
	for _, s := range spec.ResourceSelectors {
		p.selectors = append(p.selectors, newSelector(s))
	}
	return p.parseRules(spec)
}

func decodeSpec(value any) (spec policyv1alpha1.OverrideSpec, err error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return spec, errors.New("it has no spec")
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, &spec, true)
	return spec, err
}

// parseRules ignores the deprecated fields if there are overrideRules, as Karmada does
// (getOverridersFromOverridePolicies in pkg/util/overridemanager/overridemanager.go, v1.18.2).
func (p *Policy) parseRules(spec policyv1alpha1.OverrideSpec) error {
	if len(spec.OverrideRules) == 0 {
		//lint:ignore SA1019 users have them
		return p.addRule("overriders", spec.TargetCluster, spec.Overriders)
	}
	for i, r := range spec.OverrideRules {
		if err := p.addRule(fmt.Sprintf("overrideRules[%d].overriders", i), r.TargetCluster, r.Overriders); err != nil {
			return err
		}
	}
	return nil
}

func (p *Policy) addRule(field string, affinity *policyv1alpha1.ClusterAffinity, overriders policyv1alpha1.Overriders) error {
	target, err := newTarget(affinity)
	if err != nil {
		return fmt.Errorf("the targetCluster of %s: %w", field, err)
	}
	encoded, err := json.Marshal(overriders)
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	digest := sha256.Sum256(encoded)
	p.rules = append(p.rules, rule{field, target, overriders, onLabels(overriders), hex.EncodeToString(digest[:16])})
	return nil
}
