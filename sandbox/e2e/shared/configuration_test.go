package shared

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

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

func TestConfigurationChangedLive(t *testing.T) {
	ns := Isolate(t)
	d := StartDaemon(t)
	Configure(t, Resources(t, "services"))
	Eventually(t, "the watch of ConfigMaps to go", d.WantNoSeries(WatchState("configmaps", "ready")))
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	begin := time.Now()
	Configure(t, Resources(t, "services", "configmaps"))
	Eventually(t, "the Works of a resource that was added", func(ctx context.Context) error {
		for _, cluster := range []string{Push, Pull} {
			if _, err := GetWork(ctx, ConfigMapWork(ns, "page", cluster)); err != nil {
				return err
			}
		}
		return nil
	})
	t.Logf("added a resource: its Works were there after %s", time.Since(begin).Round(10*time.Millisecond))
	WantInMembers(t, ns, "page", "one", Push, Pull)

	audit := AuditFromNow(t)
	Configure(t, Resources(t, "services"))
	Eventually(t, "the watch to go", d.WantNoSeries(WatchState("configmaps", "ready")))
	// What left the configuration is not looked after any more, and stays.
	Remove(t, ConfigMaps, ns, "page")
	Create(t, ConfigMaps, ConfigMap(ns, "other", Both, "two"))
	Configure(t, Resources(t, "services", "serviceaccounts"))
	Eventually(t, "the next configuration", d.WantMetric(WatchState("serviceaccounts", "ready"), 1))
	Settle(t)
	if writes := audit.Writes(t); len(writes) > 0 {
		t.Errorf("the daemon wrote %v", writes)
	}
	WantInMembers(t, ns, "page", "one", Push, Pull)
}

// TestConfigurationParts adds to a configuration what its next version does not have: it stays,
// and a mistake in it is told by its name.
func TestConfigurationParts(t *testing.T) {
	ns := Isolate(t)
	d := StartDaemon(t)
	own := func(text string) {
		Change(t, ConfigMaps, Home(t), Account, SetField(ConfigurationHead+text, "data", "own.yaml"))
	}
	own("resources:\n- {resource: services" + InMyNamespaces(t) + "}\n")
	Eventually(t, "what was added to be watched", d.WantMetric(WatchState("services", "ready"), 1))
	Configure(t, Resources(t, "configmaps", "serviceaccounts")) // the next version has one more
	Eventually(t, "the next version", d.WantMetric(WatchState("serviceaccounts", "ready"), 1))
	Must(t, d.WantMetric(WatchState("services", "ready"), 1)(t.Context()))
	WantLine(t, MustKarmadaMirror(t, "status", "services", "-n", ns), `^Nothing is mirrored here`)

	own("resource: []\n")
	Eventually(t, "the rejection in the metrics", d.WantMetric(ReloadSuccessful, 0))
	WantEvent(t, Home(t), Account, "InvalidConfiguration", "own.yaml: ", "unknown field")
	Must(t, d.WantMetric(WatchState("services", "ready"), 1)(t.Context()))
	if output, err := KarmadaMirror(t, "status", "-n", ns); err == nil || !strings.Contains(output, "own.yaml: ") {
		t.Errorf("a command reads the mistake: %v, %s", err, output)
	}
	Change(t, ConfigMaps, Home(t), Account, func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, "data", "own.yaml") })
	Eventually(t, "the part to be gone", d.WantNoSeries(WatchState("services", "ready")))
	Must(t, d.WantMetric(ReloadSuccessful, 1)(t.Context()))
}

// TestVersionNotServed asks for a version that no API server has: what is mirrored of
// the resource is neither deleted nor held, for its objects are all there.
func TestVersionNotServed(t *testing.T) {
	ns := Isolate(t)
	policy := schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}
	text := func(version string) string {
		return ConfigurationHead + BreakerOff + "resources:\n- {group: networking.k8s.io, resource: networkpolicies, version: " + version + InMyNamespaces(t) + "}\n"
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
	if err := karmada.Apply(t.Context(), Env.Config(), []byte(rights)); err != nil {
		t.Fatal(err)
	}
	Configure(t, text("v1"))
	d := StartDaemon(t)
	u := Object("networking.k8s.io/v1", "NetworkPolicy", ns, "none", map[string]any{"spec": map[string]any{"podSelector": map[string]any{}}})
	u.SetAnnotations(map[string]string{render.ClustersAnnotation: Push})
	Create(t, policy, u)
	name := types.NamespacedName{
		Namespace: render.ExecutionNamespace(Push),
		Name:      render.Identity{Group: policy.Group, Kind: "NetworkPolicy", Namespace: ns, Name: "none"}.WorkName(),
	}
	before := MustWork(t, name)
	SetConfiguration(t, text("v9"))
	Eventually(t, "the resource to be pending", d.WantMetric(WatchState("networkpolicies.networking.k8s.io", "pending"), 1))
	Settle(t)
	if after := MustWork(t, name); after.GetGeneration() != before.GetGeneration() || len(after.GetLabels()) != len(before.GetLabels()) {
		t.Errorf("the Work was touched: %v", after.Object["metadata"])
	}
	SetConfiguration(t, text("v1"))
	Remove(t, policy, ns, "none")
	Eventually(t, "the Work to go", func(ctx context.Context) error { return Disagreement(ctx, ns, policy) })
}

// TestConfigurationCycles adds resources and takes them away again and again.
func TestConfigurationCycles(t *testing.T) {
	ns := Isolate(t)
	d := StartDaemon(t, "--leader-elect=false", NoMutationDetector)
	ids := CreatePages(t, ns, Both, 5)
	WantSources(t, ns)
	f := NewFault(t, fmt.Sprintf("A resource added to and taken from the configuration %d times", configurationCycles), ns)
	cycle := func(n int) {
		for i := range n {
			text := Resources(t, "configmaps", "serviceaccounts", "services")
			if i%2 == 1 {
				text = Resources(t, "configmaps")
			}
			d.Reconfigure(t, func() { SetConfiguration(t, text) })
		}
	}
	cycle(20)
	goroutines, heap := d.Settled(t)
	cycle(2 * configurationCycles)
	f.WantNoDeletes()
	Workload(t, f, ns, ids)
	f.Heal()
	f.Converge(Patience)
	Eventually(t, "goroutines and heap to be back", func(context.Context) error {
		now, heapNow := d.Settled(t)
		f.Note = fmt.Sprintf("goroutines %.0f → %.0f, heap %.1f → %.1f MB", goroutines, now, heap/1e6, heapNow/1e6)
		if now > goroutines+3 || heapNow > 1.2*heap+2e6 {
			return errors.New(f.Note)
		}
		return nil
	})
	f.Remark(f.Note)
}
