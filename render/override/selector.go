package override

import (
	"slices"
	"strings"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Object is what policies select objects by.
type Object struct {
	APIVersion, Kind, Namespace, Name string
	Labels                            map[string]string
	// Stripped tells what its manifest may lack; nil for nothing.
	Stripped Stripped
}

// priority says how narrowly a policy selects an object: those that select it more narrowly
// are applied later, and so win. (ResourceSelectorPriority in pkg/util/selector.go, v1.18.2.)
type priority int

const (
	unselected priority = iota
	selectedByKind
	selectedByLabels
	selectedByName
)

// selector is a parsed ResourceSelector.
type selector struct {
	apiVersion, kind, namespace, name string
	labels                            labels.Selector
	byLabels                          bool
}

// newSelector parses a ResourceSelector. One whose label selector is invalid selects nothing,
// unless it has a name: then Karmada does not look at the label selector.
func newSelector(s policyv1alpha1.ResourceSelector) selector {
	parsed := selector{apiVersion: s.APIVersion, kind: s.Kind, namespace: s.Namespace, name: s.Name, byLabels: s.LabelSelector != nil}
	parsed.labels, _ = parseLabels(s.LabelSelector)
	return parsed
}

// parseLabels returns a selector that selects nothing, and false, if it is invalid.
func parseLabels(s *metav1.LabelSelector) (labels.Selector, bool) {
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing(), false
	}
	return parsed, true
}

func (s selector) priority(o Object) priority {
	switch {
	case s.apiVersion != o.APIVersion, s.kind != o.Kind, s.namespace != "" && s.namespace != o.Namespace:
		return unselected
	case s.name == o.Name && s.name != "":
		return selectedByName
	case s.name != "":
		return unselected
	case !s.byLabels:
		return selectedByKind
	case s.labels.Matches(labels.Set(o.Labels)):
		return selectedByLabels
	}
	return unselected
}

func (p *Policy) selectsByLabels() bool {
	return slices.ContainsFunc(p.selectors, func(s selector) bool { return s.byLabels && s.name == "" })
}

// Selects reports whether the policy selects an object.
func (p *Policy) Selects(o Object) bool {
	return (p.namespace == "" || p.namespace == o.Namespace) && p.priority(o) != unselected
}

// SelectsAs returns another version of an object's kind in which the policy would select it, if it does not
// select it as it is; empty if there is none.
func (p *Policy) SelectsAs(o Object) string {
	if p.Selects(o) {
		return ""
	}
	group, _, _ := strings.Cut(o.APIVersion, "/")
	for _, s := range p.selectors {
		as := o
		as.APIVersion = s.apiVersion
		if of, _, _ := strings.Cut(s.apiVersion, "/"); of == group && s.apiVersion != o.APIVersion && s.priority(as) != unselected {
			return s.apiVersion
		}
	}
	return ""
}

// Distinguishes reports whether the policy has rules for one of two clusters, or of two states of
// one, that it does not have for the other.
func (p *Policy) Distinguishes(a, b Cluster) bool {
	return slices.ContainsFunc(p.rules, func(r rule) bool { return r.target.matches(a) != r.target.matches(b) })
}

// MaySelect reports whether the policy selects an object that has suitable labels and is read in
// a suitable version.
func (p *Policy) MaySelect(kind, namespace, name string) bool {
	if p.namespace != "" && p.namespace != namespace {
		return false
	}
	return len(p.selectors) == 0 || slices.ContainsFunc(p.selectors, func(s selector) bool {
		return s.kind == kind && (s.namespace == "" || s.namespace == namespace) && (s.name == "" || s.name == name)
	})
}

// priority returns that of the narrowest selector.
func (p *Policy) priority(o Object) priority {
	if len(p.selectors) == 0 {
		return selectedByKind
	}
	narrowest := unselected
	for _, s := range p.selectors {
		narrowest = max(narrowest, s.priority(o))
	}
	return narrowest
}
