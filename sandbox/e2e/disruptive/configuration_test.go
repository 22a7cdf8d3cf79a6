package disruptive

import (
	"testing"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

func TestInvalidConfiguration(t *testing.T) {
	d := StartDaemon(t)
	Quiesce(t)
	ns := NewNamespace(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	WantInMembers(t, ns, "page", "one", Push, Pull)
	f := NewFault(t, "The ConfigMap emptied, filled with bad YAML, and deleted", ns)
	cases := map[string]struct{ text, said string }{
		"NotYAML":      {"resources: [", "as YAML"},
		"UnknownField": {ConfigurationHead + "resource: []\n", "unknown field"},
		"Forbidden":    {Resources(t, "configmaps", "nodes"), "nodes cannot be mirrored"},
		"Empty":        {"", "apiVersion: Unsupported value"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			Configure(t, tc.text)
			Eventually(t, "the rejection in the metrics", d.WantMetric(ReloadSuccessful, 0))
			WantEvent(t, System, Account, "InvalidConfiguration", tc.said)
			Change(t, ConfigMaps, ns, "page", SetField(name, "data", "key"))
			WantInMembers(t, ns, "page", name, Push, Pull)
		})
		Eventually(t, "the configuration to be accepted again", d.WantMetric(ReloadSuccessful, 1))
	}
	t.Run("Deleted", func(t *testing.T) {
		Configure(t, Resources(t, "configmaps"))
		Eventually(t, "the configuration to be accepted", d.WantMetric(ReloadSuccessful, 1))
		Remove(t, ConfigMaps, System, Account)
		Eventually(t, "the deletion in the metrics", d.WantMetric(ReloadSuccessful, 0))
		Change(t, ConfigMaps, ns, "page", SetField("deleted", "data", "key"))
		WantInMembers(t, ns, "page", "deleted", Push, Pull)
	})
	Eventually(t, "the configuration that is there again to be accepted", d.WantMetric(ReloadSuccessful, 1))
	Change(t, ConfigMaps, ns, "page", SetField("restored", "data", "key"))
	f.Heal()
	f.Converge(Patience)
}
