package render

import (
	"maps"
	"slices"
	"strings"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/karmada-target/karmada-mirror/render/override"
)

// ProviderLabel is the label under which selectors see the provider of a cluster. Karmada's
// API has no label for it.
const ProviderLabel = clusterv1alpha1.GroupName + "/provider"

// Member is what a member cluster says about itself that its Works may depend on: nothing that
// changes while the cluster only reports.
type Member struct {
	Name, Region, Provider string
	// Zones are those that the cluster spans.
	Zones []string
	// Labels and Annotations are the Cluster's own.
	Labels, Annotations map[string]string
}

// Overridden returns what override policies select the cluster by.
func (m *Member) Overridden() override.Cluster {
	return override.Cluster{Name: m.Name, Labels: m.Labels, Provider: m.Provider, Region: m.Region, Zones: m.Zones}
}

// Showing returns the cluster with only those of its annotations that one of the globs matches; nil globs match all.
func (m *Member) Showing(globs []string) *Member {
	if m == nil || globs == nil {
		return m
	}
	shown := *m
	shown.Annotations = maps.Clone(m.Annotations)
	maps.DeleteFunc(shown.Annotations, func(key, _ string) bool { return !matchesAny(globs, key) })
	return &shown
}

// Equal reports whether both say the same.
func (m *Member) Equal(n *Member) bool {
	return m.Name == n.Name && m.Region == n.Region && m.Provider == n.Provider && slices.Equal(m.Zones, n.Zones) &&
		maps.Equal(m.Labels, n.Labels) && maps.Equal(m.Annotations, n.Annotations)
}

// Zone returns the zone of the cluster; empty if it does not span exactly one.
func (m *Member) Zone() string {
	if len(m.Zones) != 1 {
		return ""
	}
	return m.Zones[0]
}

// selectorLabel returns one of SelectorLabels.
func (m *Member) selectorLabel(key string) (value string, ok bool) {
	if value, ok = m.Labels[key]; ok {
		return value, true
	}
	switch key {
	case corev1.LabelTopologyRegion:
		value = m.Region
	case corev1.LabelTopologyZone:
		value = m.Zone()
	case ProviderLabel:
		value = m.Provider
	}
	return value, value != ""
}

// zoneSeparator is between the zones of a cluster in a label, whose own values never have it.
const zoneSeparator = ","

// SelectorLabels returns what selectors see: the Cluster's labels, and its region, zones and
// provider as labels where it has no such label.
func (m *Member) SelectorLabels() labels.Set {
	all := labels.Set{}
	for key, value := range map[string]string{corev1.LabelTopologyRegion: m.Region, corev1.LabelTopologyZone: strings.Join(m.Zones, zoneSeparator), ProviderLabel: m.Provider} {
		if value != "" {
			all[key] = value
		}
	}
	maps.Copy(all, m.Labels)
	return all
}

// selected reports whether a selector matches SelectorLabels. Of a cluster in several zones, one is enough, and a requirement that excludes
// zones wants none of them, as in Karmada since 1.18 (ClusterMatches in pkg/util/selector.go).
func selected(s labels.Selector, of labels.Set) bool {
	if !strings.Contains(of[corev1.LabelTopologyZone], zoneSeparator) {
		return s.Matches(of)
	}
	requirements, _ := s.Requirements()
	return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		if r.Key() != corev1.LabelTopologyZone {
			return !r.Matches(of)
		}
		fits := func(zone string) bool { return r.Matches(labels.Set{r.Key(): zone}) }
		zones, excludes := strings.Split(of[r.Key()], zoneSeparator), r.Operator() == selection.NotIn || r.Operator() == selection.NotEquals
		return excludes && slices.ContainsFunc(zones, func(zone string) bool { return !fits(zone) }) || !slices.ContainsFunc(zones, fits)
	})
}
