package disruptive

import (
	"strings"
	"testing"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestNotices mirrors what Karmada cannot apply: a kind that a member does not serve, and
// a Namespace that Karmada does not create in the members.
func TestNotices(t *testing.T) {
	startWithMachines(t)
	ns := NewNamespace(t)
	Create(t, machines, machine(ns, "vm", Push2)) // installMachines does not install it there
	WantEvent(t, ns, "vm", "KindNotServed", Push2, "VirtualMachine")
	MustWork(t, types.NamespacedName{Namespace: render.ExecutionNamespace(Push2), Name: machineID(ns, "vm").WorkName()})
	WantLine(t, MustKarmadaMirror(t, "explain", machines.GroupResource().String(), "vm", "-n", ns), `! KindNotServed: .*`+Push2)
	Create(t, machines, machine(ns, "served", Push))
	MustWork(t, types.NamespacedName{Namespace: render.ExecutionNamespace(Push), Name: machineID(ns, "served").WorkName()})
	if output := MustKarmadaMirror(t, "explain", machines.GroupResource().String(), "served", "-n", ns); strings.Contains(output, "!") {
		t.Errorf("a notice about a kind that is served:\n%s", output)
	}

	Change(t, Namespaces, "", ns, func(u *unstructured.Unstructured) {
		u.SetLabels(map[string]string{policyv1alpha1.NamespaceSkipAutoPropagationLabel: "true"})
	})
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push, "one"))
	WantEvent(t, ns, "page", "NamespaceNotPropagated", ns)
	MustWork(t, ConfigMapWork(ns, "page", Push))
	WantLine(t, MustKarmadaMirror(t, "explain", "cm", "page", "-n", ns), `! NamespaceNotPropagated: .*`+ns)
	WantLine(t, MustKarmadaMirror(t, "status", "cm", "page", "-n", ns), `^ConfigMap/`+ns+`/page +`+Push+` .*NamespaceNotPropagated: `)
	removeMachines(t, ns)
}
