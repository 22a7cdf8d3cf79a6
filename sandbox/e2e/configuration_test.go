package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

const (
	reloadSuccessful  = "karmada_mirror_config_last_reload_successful"
	configurationHead = "apiVersion: mirror.karmada.target/v1alpha1\nkind: MirrorConfiguration\n"
)

// configure replaces the configuration and restores it after the test.
func configure(t *testing.T, text string) {
	t.Helper()
	var before string
	change(t, configMaps, system, account, func(u *unstructured.Unstructured) {
		before, _, _ = unstructured.NestedString(u.Object, "data", config.Key)
		setField(text, "data", config.Key)(u)
	})
	t.Cleanup(func() {
		u := object("v1", "ConfigMap", system, account, map[string]any{"data": map[string]any{config.Key: before}})
		text, err := yaml.Marshal(u.Object)
		if err == nil {
			err = karmada.Apply(context.Background(), env.Config(), text)
		}
		if err != nil {
			t.Errorf("cannot restore the configuration: %v", err)
		}
	})
}

// breakerOff and breakerOn are sections of a configuration.
const (
	breakerOff = "deletion: {holdAbove: {works: 0, percent: 25}}\n"
	breakerOn  = "deletion: {holdAbove: {works: 50, percent: 25}}\n"
)

// resources is a configuration with these resources, written <plural>[.<group>],
// and without the deletion breaker.
func resources(names ...string) string {
	var b strings.Builder
	b.WriteString(configurationHead + breakerOff + "resources:\n")
	for _, name := range names {
		gr := schema.ParseGroupResource(name)
		fmt.Fprintf(&b, "- {group: %q, resource: %s}\n", gr.Group, gr.Resource)
	}
	return b.String()
}

func TestConfigurationChangedLive(t *testing.T) {
	d := startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	configure(t, resources("services"))
	eventually(t, "the watch of ConfigMaps to go", func(context.Context) error {
		if _, err := d.metric(`karmada_mirror_watch_state{resource="configmaps",state="ready"}`); err == nil {
			return fmt.Errorf("it is still there")
		}
		return nil
	})
	create(t, configMaps, configMap(ns, "page", both, "one"))
	begin := time.Now()
	configure(t, resources("services", "configmaps"))
	within(t, 2*time.Second, "the Works of a resource that was added", func(ctx context.Context) error {
		for _, cluster := range []string{push, pull} {
			if _, err := getWork(ctx, configMapWork(ns, "page", cluster)); err != nil {
				return err
			}
		}
		return nil
	})
	t.Logf("added a resource: its Works were there after %s", time.Since(begin).Round(10*time.Millisecond))
	wantInMembers(t, ns, "page", "one", push, pull)

	audit := auditFromNow(t)
	configure(t, resources("services"))
	eventually(t, "the watch to go", func(context.Context) error {
		if _, err := d.metric(`karmada_mirror_watch_state{resource="configmaps",state="ready"}`); err == nil {
			return fmt.Errorf("it is still there")
		}
		return nil
	})
	// What left the configuration is not looked after any more, and stays.
	remove(t, configMaps, ns, "page")
	create(t, configMaps, configMap(ns, "other", both, "two"))
	configure(t, resources("services", "serviceaccounts"))
	eventually(t, "the next configuration", d.wantMetric(`karmada_mirror_watch_state{resource="serviceaccounts",state="ready"}`, "1"))
	if writes := audit.writes(t); len(writes) > 0 {
		t.Errorf("the daemon wrote %v", writes)
	}
	wantInMembers(t, ns, "page", "one", push, pull)
}

func TestInvalidConfiguration(t *testing.T) {
	d := startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
	f := newFault(t, "The ConfigMap emptied, filled with bad YAML, and deleted", ns)
	cases := map[string]string{
		"NotYAML":      "resources: [",
		"UnknownField": configurationHead + "resource: []\n",
		"Forbidden":    resources("configmaps", "nodes"),
		"Empty":        "",
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			configure(t, text)
			eventually(t, "the rejection in the metrics", d.wantMetric(reloadSuccessful, "0"))
			wantEvent(t, system, account, "InvalidConfiguration")
			change(t, configMaps, ns, "page", setField(name, "data", "key"))
			wantInMembers(t, ns, "page", name, push, pull)
		})
		eventually(t, "the configuration to be accepted again", d.wantMetric(reloadSuccessful, "1"))
	}
	t.Run("Deleted", func(t *testing.T) {
		configure(t, resources("configmaps"))
		eventually(t, "the configuration to be accepted", d.wantMetric(reloadSuccessful, "1"))
		remove(t, configMaps, system, account)
		eventually(t, "the deletion in the metrics", d.wantMetric(reloadSuccessful, "0"))
		change(t, configMaps, ns, "page", setField("deleted", "data", "key"))
		wantInMembers(t, ns, "page", "deleted", push, pull)
	})
	change(t, configMaps, ns, "page", setField("restored", "data", "key"))
	f.heal()
	f.converge(patience)
}

// testConfigurationCycles adds a resource and takes it away 200 times.
func testConfigurationCycles(t *testing.T) {
	ns := newNamespace(t)
	text := func(others string) string {
		return fmt.Sprintf("%sresources:\n- {resource: configmaps, namespaces: [%s]}\n%s", configurationHead+breakerOn, ns, others)
	}
	const name = "configuration"
	create(t, configMaps, object("v1", "ConfigMap", ns, name, map[string]any{"data": map[string]any{config.Key: text("")}}))
	d := startDaemon(t, "--config-map", ns+"/"+name, "--leader-elect=false", noMutationDetector)
	ids := createPages(t, ns, both, 5)
	wantSources(t, ns)
	f := newFault(t, "A resource added to and taken from the configuration 200 times", ns)
	f.only(ids, push, pull)
	cycle := func(n int) {
		for i := range n {
			others := "- {resource: serviceaccounts}\n- {resource: services}\n"
			if i%2 == 1 {
				others = ""
			}
			before := d.logged("configuration in force")
			change(t, configMaps, ns, name, setField(text(others), "data", config.Key))
			eventually(t, "the configuration", func(context.Context) error {
				if d.logged("configuration in force") == before {
					return errors.New("not yet")
				}
				return nil
			})
		}
	}
	cycle(20)
	goroutines, heap := d.settled(t)
	cycle(400)
	f.heal()
	f.converge(patience)
	eventually(t, "goroutines and heap to be back", func(context.Context) error {
		now, heapNow := d.settled(t)
		f.note = fmt.Sprintf("goroutines %.0f → %.0f, heap %.1f → %.1f MB", goroutines, now, heap/1e6, heapNow/1e6)
		if now > goroutines+3 || heapNow > 1.2*heap+2e6 {
			return errors.New(f.note)
		}
		return nil
	})
	env.rows.note(f.name, f.note)
}
