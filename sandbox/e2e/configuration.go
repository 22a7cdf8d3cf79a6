package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// ReloadSuccessful is the series that says whether the configuration is in force.
const ReloadSuccessful = "karmada_mirror_config_last_reload_successful"

// ConfigurationHead begins a configuration; BreakerOff and BreakerOn are sections of one.
// BreakerOn has one percent because the Works of tests that run in parallel count too.
const (
	ConfigurationHead = "apiVersion: mirror.karmada.target/v1alpha1\nkind: MirrorConfiguration\n"
	BreakerOff        = "deletion: {holdAbove: {works: 0, percent: 25}}\n"
	BreakerOn         = "deletion: {holdAbove: {works: 50, percent: 1}}\n"
)

// Resources returns a configuration with these resources, written <plural>[.<group>], in
// the namespaces of the test and without the deletion breaker.
func Resources(t *testing.T, names ...string) string {
	var b strings.Builder
	b.WriteString(ConfigurationHead + BreakerOff + "resources:\n")
	for _, name := range names {
		gr := schema.ParseGroupResource(name)
		fmt.Fprintf(&b, "- {group: %q, resource: %s%s}\n", gr.Group, gr.Resource, InMyNamespaces(t))
	}
	return b.String()
}

// InMyNamespaces limits a resource of a configuration to the namespaces of the test.
func InMyNamespaces(t *testing.T) string {
	s := scopeOf(t)
	if s.namespaces == nil {
		return ""
	}
	return fmt.Sprintf(`, namespaces: ["%s"]`, strings.Join(s.namespaces, `", "`))
}

// SetConfiguration replaces the configuration and returns the previous one.
func SetConfiguration(t *testing.T, text string) (before string) {
	t.Helper()
	Change(t, ConfigMaps, Home(t), Account, func(u *unstructured.Unstructured) {
		before, _, _ = unstructured.NestedString(u.Object, "data", config.Key)
		SetField(text, "data", config.Key)(u)
	})
	return before
}

// Configure replaces the configuration and restores it after the test.
func Configure(t *testing.T, text string) {
	t.Helper()
	home, before := Home(t), SetConfiguration(t, text)
	t.Cleanup(func() {
		u := Object("v1", "ConfigMap", home, Account, map[string]any{"data": map[string]any{config.Key: before}})
		text, err := yaml.Marshal(u.Object)
		if err == nil {
			err = karmada.Apply(context.Background(), Env.Config(), text)
		}
		if err != nil {
			t.Errorf("cannot restore the configuration: %v", err)
		}
	})
}
