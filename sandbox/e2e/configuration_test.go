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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

const (
	reloadSuccessful  = "karmada_mirror_config_last_reload_successful"
	configurationHead = "apiVersion: mirror.karmada.target/v1alpha1\nkind: MirrorConfiguration\n"
)

// setConfiguration replaces the configuration, and returns what it was.
func setConfiguration(t *testing.T, text string) (before string) {
	t.Helper()
	change(t, configMaps, system, account, func(u *unstructured.Unstructured) {
		before, _, _ = unstructured.NestedString(u.Object, "data", config.Key)
		setField(text, "data", config.Key)(u)
	})
	return before
}

// configure replaces the configuration and restores it after the test.
func configure(t *testing.T, text string) {
	t.Helper()
	before := setConfiguration(t, text)
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

// TestVersionNotServed asks for a version that no API server has: what is mirrored of
// the resource is neither deleted nor held, for its objects are all there.
func TestVersionNotServed(t *testing.T) {
	policy := schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}
	text := func(version string) string {
		return configurationHead + breakerOff + "resources:\n- {group: networking.k8s.io, resource: networkpolicies, version: " + version + "}\n"
	}
	rights := `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: networkpolicies
  labels: {rbac.karmada.target/aggregate-to-karmada-mirror: "true"}
rules:
- {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [get, list, watch]}
`
	if err := karmada.Apply(t.Context(), env.Config(), []byte(rights)); err != nil {
		t.Fatal(err)
	}
	configure(t, text("v1"))
	d := startDaemon(t)
	ns := newNamespace(t)
	u := object("networking.k8s.io/v1", "NetworkPolicy", ns, "none", map[string]any{"spec": map[string]any{"podSelector": map[string]any{}}})
	u.SetAnnotations(map[string]string{render.ClustersAnnotation: push})
	create(t, policy, u)
	name := types.NamespacedName{
		Namespace: render.ExecutionNamespace(push),
		Name:      render.Identity{Group: policy.Group, Kind: "NetworkPolicy", Namespace: ns, Name: "none"}.WorkName(),
	}
	before := mustWork(t, name)
	setConfiguration(t, text("v9"))
	eventually(t, "the resource to be pending", d.wantMetric(`karmada_mirror_watch_state{resource="networkpolicies.networking.k8s.io",state="pending"}`, "1"))
	pass(t, 3*time.Second) // for longer than a deletion takes to settle
	if after := mustWork(t, name); after.GetGeneration() != before.GetGeneration() || len(after.GetLabels()) != len(before.GetLabels()) {
		t.Errorf("the Work was touched: %v", after.Object["metadata"])
	}
	setConfiguration(t, text("v1"))
	remove(t, policy, ns, "none")
	eventually(t, "the Work to go", func(ctx context.Context) error { return disagreement(ctx, ns, policy) })
}

func TestInvalidConfiguration(t *testing.T) {
	d := startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
	f := newFault(t, "The ConfigMap emptied, filled with bad YAML, and deleted", ns)
	cases := map[string]struct{ text, said string }{
		"NotYAML":      {"resources: [", "as YAML"},
		"UnknownField": {configurationHead + "resource: []\n", "unknown field"},
		"Forbidden":    {resources("configmaps", "nodes"), "nodes cannot be mirrored"},
		"Empty":        {"", "apiVersion: Unsupported value"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			configure(t, tc.text)
			eventually(t, "the rejection in the metrics", d.wantMetric(reloadSuccessful, "0"))
			wantEvent(t, system, account, "InvalidConfiguration", tc.said)
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
