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
	Eventually(t, "the watch of ConfigMaps to stop", d.WantNoSeries(WatchState("configmaps", "ready")))
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	begin := time.Now()
	Configure(t, Resources(t, "services", "configmaps"))
	Eventually(t, "the Works of an added resource", func(ctx context.Context) error {
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
	Eventually(t, "the watch to stop", d.WantNoSeries(WatchState("configmaps", "ready")))
	// Works of a resource that has left the configuration are no longer maintained, and
	// stay.
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

// TestConfigurationParts adds a part to a configuration whose next version does not have
// it: it stays, and a mistake in it is reported with its key.
func TestConfigurationParts(t *testing.T) {
	ns := Isolate(t)
	d := StartDaemon(t)
	own := func(text string) {
		Change(t, ConfigMaps, Home(t), Account, SetField(ConfigurationHead+text, "data", "own.yaml"))
	}
	own("resources:\n- {resource: services" + InMyNamespaces(t) + "}\n")
	Eventually(t, "the added resource to be watched", d.WantMetric(WatchState("services", "ready"), 1))
	Configure(t, Resources(t, "configmaps", "serviceaccounts")) // the next version has one more
	Eventually(t, "the next version", d.WantMetric(WatchState("serviceaccounts", "ready"), 1))
	Must(t, d.WantMetric(WatchState("services", "ready"), 1)(t.Context()))
	WantLine(t, MustKarmadaMirror(t, "status", "services", "-n", ns), `^Nothing is mirrored here`)

	own("resource: []\n")
	Eventually(t, "the rejection in the metrics", d.WantMetric(ReloadSuccessful, 0))
	WantEvent(t, Home(t), Account, "InvalidConfiguration", "own.yaml: ", "unknown field")
	Must(t, d.WantMetric(WatchState("services", "ready"), 1)(t.Context()))
	if output, err := KarmadaMirror(t, "status", "-n", ns); err == nil || !strings.Contains(output, "own.yaml: ") {
		t.Errorf("a command does not report the mistake: %v, %s", err, output)
	}
	Change(t, ConfigMaps, Home(t), Account, func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, "data", "own.yaml") })
	Eventually(t, "the part to be removed", d.WantNoSeries(WatchState("services", "ready")))
	Must(t, d.WantMetric(ReloadSuccessful, 1)(t.Context()))
}

// TestVersionNotServed configures a version that no API server has: the Works of the
// resource are neither deleted nor held, because its objects all still exist.
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
	Eventually(t, "the Work to be deleted", func(ctx context.Context) error { return Disagreement(ctx, ns, policy) })
}

// TestConfigurationCycles adds and removes resources again and again.
func TestConfigurationCycles(t *testing.T) {
	ns := Isolate(t)
	d := StartDaemon(t, "--leader-elect=false", NoMutationDetector)
	ids := CreatePages(t, ns, Both, 5)
	WantSources(t, ns)
	f := NewFault(t, fmt.Sprintf("A resource added to and removed from the configuration %d times", configurationCycles), ns)
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
	Eventually(t, "goroutines and heap to be back to where they were", func(context.Context) error {
		now, heapNow := d.Settled(t)
		f.Note = fmt.Sprintf("goroutines %.0f → %.0f, heap %.1f → %.1f MB", goroutines, now, heap/1e6, heapNow/1e6)
		if now > goroutines+3 || heapNow > 1.2*heap+2e6 {
			return errors.New(f.Note)
		}
		return nil
	})
	f.Remark(f.Note)
}
