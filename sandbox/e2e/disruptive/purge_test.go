package disruptive

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestPurge deletes the Works of what has left the configuration, and nothing else.
func TestPurge(t *testing.T) {
	ns, other := NewNamespace(t), NewNamespace(t)
	d := StartDaemon(t)
	Quiesce(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push+","+Push2, "one"))
	Create(t, ConfigMaps, ConfigMap(other, "page", Push, "one"))
	WantInMembers(t, ns, "page", "one", Push, Push2)
	WantInMembers(t, other, "page", "one", Push)

	purge := func(arguments ...string) (string, error) {
		return KarmadaMirror(t, append([]string{"purge", "--resource", "configmaps"}, arguments...)...)
	}
	for _, spelled := range []string{"configmaps", "configmap", "cm", "configmaps.v1."} {
		if output, err := KarmadaMirror(t, "purge", "--yes", "--resource", spelled); err == nil || !strings.Contains(output, "remove it from ConfigMap") {
			t.Errorf("purge of a configured resource, spelled %s: %v\n%s", spelled, err, output)
		}
	}
	if output, err := KarmadaMirror(t, "purge", "--yes", "--resource", "nonsense"); err == nil {
		t.Errorf("purge of a nonsense resource: %s", output)
	}
	// Another daemon watches one of the namespaces.
	second := Object("v1", "ConfigMap", System, "second-"+ns, map[string]any{
		"data": map[string]any{"config.yaml": ConfigurationHead + "resources:\n- {resource: configmaps, namespaces: [" + other + "]}\n"},
	})
	Create(t, ConfigMaps, second)
	t.Cleanup(func() {
		_ = Env.Admin.Resource(ConfigMaps).Namespace(System).Delete(context.Background(), second.GetName(), metav1.DeleteOptions{})
	})
	Configure(t, Resources(t, "deployments.apps"))
	Eventually(t, "the daemon to stop watching ConfigMaps", d.WantNoSeries(WatchState("configmaps", "ready")))
	output, err := purge("--dry-run")
	if err != nil {
		t.Fatal(err)
	}
	WantLine(t, output, `^ConfigMap/`+ns+`/page: Work karmada-es-`+Push+`/page-\S+ would be deleted$`)
	WantLine(t, output, `^2 Works would be deleted in `+Push+", "+Push2+`\.$`)
	MustWork(t, ConfigMapWork(ns, "page", Push))

	Remove(t, ConfigMaps, System, second.GetName())
	Create(t, ConfigMaps, Object("v1", "ConfigMap", System, second.GetName(), map[string]any{
		"data": map[string]any{"config.yaml": ConfigurationHead + "resources: nonsense\n"},
	}))
	if output, err := purge("--yes"); err == nil || !strings.Contains(output, "another daemon") {
		t.Errorf("with a configuration that cannot be read: %v\n%s", err, output)
	}
	Change(t, ConfigMaps, System, second.GetName(), SetField(second.Object["data"].(map[string]any)["config.yaml"], "data", "config.yaml"))

	if output, err := purge(); err == nil || !strings.Contains(output, "--yes") {
		t.Errorf("without a terminal to ask for confirmation: %v\n%s", err, output)
	}
	MustWork(t, ConfigMapWork(ns, "page", Push))
	if output, err = purge("--yes"); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	WantLine(t, output, `^2 Works deleted in `)
	WantGone(t, ConfigMaps, ns, "page", Push, Push2)
	WantInMembers(t, other, "page", "one", Push)
	if output, err = purge("--yes"); err != nil || !strings.Contains(output, "No Works of configmaps are outside the configuration.") {
		t.Errorf("the second time: %v\n%s", err, output)
	}
	if _, err := Env.Admin.Resource(ConfigMaps).Namespace(ns).Get(t.Context(), "page", metav1.GetOptions{}); err != nil {
		t.Errorf("the source: %v", err)
	}
}
