package config

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Warnings warns of settings that are valid, but may let users bypass a restriction, or one part of the configuration take from another.
func (c *Configuration) Warnings() (warnings []string) {
	warnings = append(warnings, c.Replaced...)
	for i, rule := range c.Authorization {
		if keys := writableKeys(rule.NamespaceSelector); len(keys) > 0 {
			warnings = append(warnings, fmt.Sprintf("authorization[%d].namespaceSelector: anyone who may label a Namespace (%s) can make this rule match it; name the namespaces, or keep their owners from writing those labels", i, strings.Join(keys, ", ")))
		}
	}
	return warnings
}

// WarnUnseen warns of groups that an aggregated API server may serve; empty if there is nothing to warn of.
func (c *Configuration) WarnUnseen() string {
	var groups []string
	for _, r := range c.Resources {
		if !isBuiltIn(r.Group) && !slices.Contains(groups, r.Group) {
			groups = append(groups, r.Group)
		}
	}
	if len(groups) == 0 || c.Authorization != nil {
		return ""
	}
	return fmt.Sprintf("resources: if an aggregated API server serves %s, admission policies do not see writes to it: restrict mirroring by authorization (karmada-mirror check knows what serves it)", strings.Join(groups, ", "))
}

// writableKeys returns the label keys in a selector that the owner of a Namespace may write.
func writableKeys(selector *metav1.LabelSelector) (keys []string) {
	if selector == nil {
		return nil
	}
	for key := range selector.MatchLabels {
		keys = append(keys, key)
	}
	for _, expression := range selector.MatchExpressions {
		keys = append(keys, expression.Key)
	}
	slices.Sort(keys)
	return slices.DeleteFunc(slices.Compact(keys), func(key string) bool { return key == corev1.LabelMetadataName })
}

// isBuiltIn reports whether the API server itself serves a group.
func isBuiltIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}
