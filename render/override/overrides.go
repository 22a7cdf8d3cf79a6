package override

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Overrides are what policies change in one object on one cluster, in Karmada's order. The
// zero value changes nothing.
type Overrides struct{ steps []step }

// step is one rule of a policy.
type step struct {
	policy   *Policy
	rule     *rule
	stripped Stripped
}

// For returns what policies change in an object on a cluster: ClusterOverridePolicies first,
// then the OverridePolicies of the object's namespace. Among each, a policy that selects
// more narrowly comes later, then one with a later name. The policies may be in any order,
// and of any namespace.
func For(policies []*Policy, o Object, c Cluster) Overrides {
	steps := choose(nil, policies, "", o, c)
	if o.Namespace == "" {
		return Overrides{steps}
	}
	// Karmada selects them when those for all namespaces have been applied.
	if slices.ContainsFunc(policies, func(p *Policy) bool { return p.namespace == o.Namespace && p.selectsByLabels() }) {
		o.Labels = labelsAfter(steps, o)
	}
	return Overrides{choose(steps, policies, o.Namespace, o, c)}
}

// choose appends the steps of the policies of one namespace.
func choose(steps []step, policies []*Policy, namespace string, o Object, c Cluster) []step {
	type candidate struct {
		*Policy
		priority priority
	}
	var chosen []candidate
	for _, p := range policies {
		if p.namespace != namespace {
			continue
		}
		if priority := p.priority(o); priority != unselected {
			chosen = append(chosen, candidate{p, priority})
		}
	}
	slices.SortStableFunc(chosen, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), strings.Compare(a.name, b.name))
	})
	for _, p := range chosen {
		for i := range p.rules {
			if p.rules[i].target.matches(c) {
				steps = append(steps, step{p.Policy, &p.rules[i], o.Stripped})
			}
		}
	}
	return steps
}

// IsEmpty reports whether no policy applies.
func (o Overrides) IsEmpty() bool { return len(o.steps) == 0 }

// Policies are the policies that apply, in order, whether or not they change something.
func (o Overrides) Policies() []*Policy {
	var policies []*Policy
	for _, s := range o.steps {
		if len(policies) == 0 || policies[len(policies)-1] != s.policy {
			policies = append(policies, s.policy)
		}
	}
	return policies
}

// ByPolicy returns the same changes, those of each policy apart, in order.
func (o Overrides) ByPolicy() []Overrides {
	var parts []Overrides
	for i, s := range o.steps {
		if i == 0 || o.steps[i-1].policy != s.policy {
			parts = append(parts, Overrides{})
		}
		last := &parts[len(parts)-1]
		last.steps = append(last.steps, s)
	}
	return parts
}

// Key identifies what is changed: Overrides with equal keys change an object equally. It is
// empty if no policy applies, and has 32 characters otherwise.
func (o Overrides) Key() string {
	switch len(o.steps) {
	case 0:
		return ""
	case 1:
		return o.steps[0].rule.key
	}
	hash := sha256.New()
	for _, s := range o.steps {
		hash.Write([]byte(s.rule.key))
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
