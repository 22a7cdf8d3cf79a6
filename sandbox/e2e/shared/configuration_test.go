package shared

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// configured replaces what an installation's configuration says besides its resources.
func (i installation) configured(t *testing.T, text string) {
	t.Helper()
	Change(t, ConfigMaps, i.ns, Account, SetField(i.configuration(text), "data", config.Key))
}

// TestConfigurationIsLive takes a namespace away and gives it back, and then hides an annotation of a Cluster.
func TestConfigurationIsLive(t *testing.T) {
	t.Parallel()
	own := newInstallation(t)
	StartDaemon(t, DaemonOptions{Flags: own.flags})
	own.mirrors(t, "before")

	own.configured(t, "systemNamespaces: ["+own.ns+"]\n")
	Create(t, ConfigMaps, ConfigMap(own.ns, "new", Both, "not mirrored"))
	WantEvent(t, own.ns, "new", "ReservedNamespace", own.ns)
	Change(t, ConfigMaps, own.ns, "before", SetField("withheld", "data", "key"))
	WantEvent(t, own.ns, "before", "ReservedNamespace")
	WantInMembers(t, own.ns, "before", "before", Push, Pull)
	WantNone(t, Works, ConfigMapWork(own.ns, "new", Push).Namespace, ConfigMapWork(own.ns, "new", Push).Name)

	own.configured(t, "systemNamespaces: []\n")
	WantInMembers(t, own.ns, "before", "withheld", Push, Pull)
	WantInMembers(t, own.ns, "new", "not mirrored", Push, Pull)

	note := own.ns + ".example/note"
	Change(t, Clusters, "", Push, SetAnnotation(note, "noted"))
	expanding := ConfigMap(own.ns, "expanding", Push, "$(cluster.annotation:"+note+":-hidden)")
	SetAnnotation(render.ExpandAnnotation, "true")(expanding)
	Create(t, ConfigMaps, expanding)
	WantInMembers(t, own.ns, "expanding", "noted", Push)
	own.configured(t, "expand: {annotations: [\"other.example/*\"]}\n")
	WantInMembers(t, own.ns, "expanding", "hidden", Push)
}
