package override

import (
	"errors"
	"slices"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Cluster is what policies select clusters by: the name and labels of a Cluster object, and
// the fields of its spec.
type Cluster struct {
	Name             string
	Labels           map[string]string
	Provider, Region string
	Zones            []string
}

// The keys of a field selector (pkg/util/constants.go, v1.18.2).
const (
	providerField = "provider"
	regionField   = "region"
	zoneField     = "zone"
)

// target is a parsed ClusterAffinity. The zero value selects every cluster.
type target struct {
	exclude, names []string
	labels, fields labels.Selector // nil selects everything
	zones          []corev1.NodeSelectorRequirement
	// isInvalid: it selects nothing, as in Karmada.
	isInvalid bool
}

// newTarget parses a ClusterAffinity, which may be nil.
func newTarget(a *policyv1alpha1.ClusterAffinity) (t target, err error) {
	if a == nil {
		return t, nil
	}
	t.exclude, t.names = a.ExcludeClusters, a.ClusterNames
	if a.LabelSelector != nil {
		selector, ok := parseLabels(a.LabelSelector)
		t.labels, t.isInvalid = selector, !ok
	}
	if a.FieldSelector == nil {
		return t, nil
	}
	var requirements labels.Requirements
	for _, expression := range a.FieldSelector.MatchExpressions {
		if expression.Key == zoneField {
			t.zones = append(t.zones, expression)
			continue
		}
		requirement, known, err := newRequirement(expression)
		if err != nil {
			return t, err
		}
		if !known {
			t.isInvalid = true
			continue
		}
		requirements = append(requirements, requirement)
	}
	if len(requirements) > 0 {
		t.fields = labels.NewSelector().Add(requirements...)
	}
	return t, nil
}

// operators are those of a field selector. Karmada's webhook accepts In and NotIn alone, but
// may not have seen an old policy.
var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

// newRequirement reports whether the operator is known. It refuses values that a label
// cannot have, on which Karmada panics (NodeSelectorRequirementsAsSelector in
// pkg/util/lifted/nodeaffinity.go, v1.18.2, adds a nil requirement).
func newRequirement(e corev1.NodeSelectorRequirement) (requirement labels.Requirement, known bool, err error) {
	operator, known := operators[e.Operator]
	if !known {
		return requirement, false, nil
	}
	parsed, err := labels.NewRequirement(e.Key, operator, e.Values)
	if err != nil {
		return requirement, true, errors.New("the fieldSelector has a key or values that cannot be those of a label")
	}
	return *parsed, true, nil
}

// matches is ClusterMatches in pkg/util/selector.go, v1.18.2: an exclusion wins.
func (t target) matches(c Cluster) bool {
	if t.isInvalid || slices.Contains(t.exclude, c.Name) {
		return false
	}
	if len(t.names) > 0 && !slices.Contains(t.names, c.Name) {
		return false
	}
	for _, e := range t.zones {
		if !zonesMatch(e, c.Zones) {
			return false
		}
	}
	return (t.labels == nil || t.labels.Matches(labels.Set(c.Labels))) && (t.fields == nil || t.fields.Matches(fieldsOf{c}))
}

// zonesMatch: a cluster may have many zones. One of them is enough for In; NotIn wants none.
func zonesMatch(e corev1.NodeSelectorRequirement, zones []string) bool {
	isListed := func(zone string) bool { return slices.Contains(e.Values, zone) }
	switch e.Operator {
	case corev1.NodeSelectorOpIn:
		return slices.ContainsFunc(zones, isListed)
	case corev1.NodeSelectorOpNotIn:
		return !slices.ContainsFunc(zones, isListed)
	case corev1.NodeSelectorOpExists:
		return len(zones) > 0
	case corev1.NodeSelectorOpDoesNotExist:
		return len(zones) == 0
	}
	return false
}

// fieldsOf presents the provider and the region of a cluster as labels. An empty one is
// missing.
type fieldsOf struct{ Cluster }

func (f fieldsOf) Has(key string) bool { return f.Get(key) != "" }

func (f fieldsOf) Get(key string) string {
	switch key {
	case providerField:
		return f.Provider
	case regionField:
		return f.Region
	}
	return ""
}

func (f fieldsOf) Lookup(key string) (string, bool) { return f.Get(key), f.Has(key) }
