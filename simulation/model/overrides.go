package model

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Policy is an override policy of the only form that tests use: one rule for all objects of a
// kind, in its own namespace or, if it is cluster-wide, everywhere.
type Policy struct {
	// Kind is that of the objects that it changes.
	Kind string
	// Clusters are the names of those where it applies; none means all.
	Clusters []string
	// Value replaces the one of the key "key" in the data, which must exist; empty replaces
	// nothing.
	Value string
	// Labels are added, or replace those with the same keys.
	Labels map[string]string
}

// widePolicy is the kind of the policies that are cluster-wide, which come first.
const widePolicy = "ClusterOverridePolicy"

// overridden is a content as the policies change it on a cluster, and their names in the order in
// which they do. It is not possible if one of them finds nothing to replace.
func (w *World) overridden(k Key, c *Content, cluster string) (changed *Content, by string, isPossible bool) {
	var applied []Key
	for key, p := range w.Policies {
		reaches := key.Kind == widePolicy || key.Namespace == k.Namespace
		if w.Configuration.Overrides && reaches && p.Kind == k.Kind && (len(p.Clusters) == 0 || slices.Contains(p.Clusters, cluster)) {
			applied = append(applied, key)
		}
	}
	slices.SortFunc(applied, func(a, b Key) int { // ClusterOverridePolicy sorts before OverridePolicy
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	var names []string
	for _, key := range applied {
		if c, isPossible = c.changedBy(w.Policies[key]); !isPossible {
			return nil, "", false
		}
		names = append(names, key.Kind+"/"+key.Name)
	}
	return c, strings.Join(names, ","), true
}

// changedBy is a content that a policy has changed.
func (c *Content) changedBy(p *Policy) (changed *Content, isPossible bool) {
	payload, labels := maps.Clone(c.Payload), maps.Clone(c.Labels)
	if p.Value != "" {
		data, _ := payload["data"].(map[string]any)
		if _, exists := data["key"]; !exists {
			return nil, false
		}
		data = maps.Clone(data)
		data["key"] = p.Value
		payload["data"] = data
	}
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, p.Labels)
	return &Content{Identity: c.Identity, Payload: payload, Labels: labels, Annotations: c.Annotations}, true
}
