package e2e

import (
	"strings"
	"testing"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
)

// TestNotices mirrors what Karmada cannot carry out: a kind that a member does not
// serve, and a Namespace that Karmada does not make in the members.
func TestNotices(t *testing.T) {
	startWithMachines(t)
	ns := newNamespace(t)
	create(t, machines, machine(ns, "vm", push2)) // installMachines leaves it out
	wantEvent(t, ns, "vm", "KindNotServed", push2, "VirtualMachine")
	mustWork(t, types.NamespacedName{Namespace: render.ExecutionNamespace(push2), Name: machineID(ns, "vm").WorkName()})
	wantLine(t, mustKarmadaMirror(t, "explain", machines.GroupResource().String(), "vm", "-n", ns), `! KindNotServed: .*`+push2)
	create(t, machines, machine(ns, "served", push))
	mustWork(t, types.NamespacedName{Namespace: render.ExecutionNamespace(push), Name: machineID(ns, "served").WorkName()})
	if output := mustKarmadaMirror(t, "explain", machines.GroupResource().String(), "served", "-n", ns); strings.Contains(output, "!") {
		t.Errorf("of what is served:\n%s", output)
	}

	change(t, namespaces, "", ns, func(u *unstructured.Unstructured) {
		u.SetLabels(map[string]string{policyv1alpha1.NamespaceSkipAutoPropagationLabel: "true"})
	})
	create(t, configMaps, configMap(ns, "page", push, "one"))
	wantEvent(t, ns, "page", "NamespaceNotPropagated", ns)
	mustWork(t, configMapWork(ns, "page", push))
	wantLine(t, mustKarmadaMirror(t, "explain", "cm", "page", "-n", ns), `! NamespaceNotPropagated: .*`+ns)
	removeMachines(t, ns)
}
