package shared

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// TestAllocatedStaysAtHome mirrors a Service with two ports: one that its user has chosen, and one that the API server allocates.
func TestAllocatedStaysAtHome(t *testing.T) {
	t.Parallel()
	own := newInstallation(t)
	own.configured(t, "- {resource: services, namespaces: ["+own.ns+"]}\n")
	StartDaemon(t, DaemonOptions{Flags: own.flags})
	services := corev1.SchemeGroupVersion.WithResource("services")
	created := Create(t, services, Asking(Object("v1", "Service", own.ns, "web", map[string]any{"spec": map[string]any{"type": "NodePort", "ports": []any{
		map[string]any{"name": "a", "port": int64(80), "nodePort": int64(31999)}, map[string]any{"name": "b", "port": int64(81)},
	}}}), Push))
	if ports, _, _ := unstructured.NestedSlice(created.Object, "spec", "ports"); len(ports) != 2 || ports[1].(map[string]any)["nodePort"] == nil {
		t.Fatalf("the API server has allocated no port: %v", ports)
	}
	Eventually(t, "the Service in the member", InMember(Push, services, own.ns, "web", "NodePort", "spec", "type"))
	manifest, err := render.ManifestOf(MustWork(t, WorkOf(render.Identity{Kind: "Service", Namespace: own.ns, Name: "web"}, Push)).Object)
	if err != nil {
		t.Fatal(err)
	}
	spec := manifest["spec"].(map[string]any)
	ports := spec["ports"].([]any)
	if chosen, allocated := ports[0].(map[string]any)["nodePort"], ports[1].(map[string]any)["nodePort"]; chosen != int64(31999) || allocated != nil || spec["ipFamilies"] != nil || spec["clusterIP"] != nil {
		t.Errorf("the Work has %v", spec)
	}
}
