package shared

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestFollows moves an object and deletes it, and what follows it, by way of another, goes along.
func TestFollows(t *testing.T) {
	t.Parallel()
	ns := NewNamespace(t)
	follow := func(name, leader string) {
		page := Plain(ns, name, "one")
		SetAnnotation(render.FollowsAnnotation, leader)(page)
		Create(t, ConfigMaps, page)
	}
	follow("last", "configmaps/middle")
	follow("middle", "configmap/leader")
	Create(t, ConfigMaps, ConfigMap(ns, "leader", Push, "one"))
	for _, name := range []string{"leader", "middle", "last"} {
		WantInMembers(t, ns, name, "one", Push)
	}
	Change(t, ConfigMaps, ns, "leader", SetAnnotation(render.ClustersAnnotation, Pull))
	for _, name := range []string{"middle", "last"} {
		WantInMembers(t, ns, name, "one", Pull)
		WantGone(t, ConfigMaps, ns, name, Push)
	}
	Remove(t, ConfigMaps, ns, "leader")
	for _, name := range []string{"middle", "last"} {
		WantGone(t, ConfigMaps, ns, name, Pull)
	}
	WantEvent(t, ns, "middle", "UnknownCluster", "matches no cluster")
}
