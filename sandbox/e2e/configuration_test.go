package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
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

// machines is the custom resource of the examples.
var machines = schema.GroupVersionResource{Group: "cloudnative.czs", Version: "v1alpha1", Resource: "virtualmachines"}

func machine(namespace, name, clusters string) *unstructured.Unstructured {
	u := object("cloudnative.czs/v1alpha1", "VirtualMachine", namespace, name, map[string]any{"spec": map[string]any{
		"action":   "start",
		"resource": map[string]any{"cpu": int64(2), "memory": "4Gi", "rootDisk": "20Gi"},
	}})
	u.SetAnnotations(map[string]string{render.ClustersAnnotation: clusters})
	return u
}

func installMachines(t *testing.T) {
	t.Helper()
	definition := repositoryFile(t, "examples", "virtualmachine", "crd.yaml")
	if err := karmada.Apply(t.Context(), env.Config(), definition); err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{push, pull} {
		if err := karmada.Apply(t.Context(), env.MemberConfig(member), definition); err != nil {
			t.Fatal(err)
		}
	}
}

func uninstallMachines(t *testing.T) {
	t.Helper()
	remove(t, crds, "", machines.GroupResource().String())
	eventually(t, "the CustomResourceDefinition to go", func(ctx context.Context) error {
		_, err := env.admin.Resource(crds).Get(ctx, machines.GroupResource().String(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %v", err)
	})
}

func TestDefinitionThatComesAndGoes(t *testing.T) {
	if err := karmada.Apply(t.Context(), env.Config(), repositoryFile(t, "examples", "virtualmachine", "clusterrole.yaml")); err != nil {
		t.Fatal(err)
	}
	configure(t, resources("configmaps", machines.GroupResource().String()))
	d := startDaemon(t)
	ns := newNamespace(t)
	state := func(state string) string {
		return fmt.Sprintf("karmada_mirror_watch_state{resource=%q,state=%q}", machines.GroupResource(), state)
	}
	eventually(t, "the resource to be pending", d.wantMetric(state("pending"), "1"))
	for round := range 2 {
		installMachines(t)
		name := fmt.Sprintf("vm-%d", round)
		eventually(t, "the resource to be ready", d.wantMetric(state("ready"), "1"))
		create(t, machines, machine(ns, name, both))
		for _, member := range []string{push, pull} {
			eventually(t, name+" in "+member, func(ctx context.Context) error {
				u, err := env.members[member].Resource(machines).Namespace(ns).Get(ctx, name, metav1.GetOptions{})
				if err != nil {
					return err
				}
				if cpu, _, _ := unstructured.NestedInt64(u.Object, "spec", "resource", "cpu"); cpu != 2 {
					return fmt.Errorf("it has %d CPUs", cpu)
				}
				return nil
			})
		}
		uninstallMachines(t)
		eventually(t, "the resource to be pending again", d.wantMetric(state("pending"), "1"))
	}
	// The others were not held up.
	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
}
