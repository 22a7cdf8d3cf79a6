package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// karmadaMirror runs a command as an administrator would.
func karmadaMirror(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), env.daemon, append(arguments, "--kubeconfig", env.Kubeconfig())...)
	command.Env = append(os.Environ(), daemonVariable+"=1")
	output, err := command.CombinedOutput()
	return string(output), err
}

func mustKarmadaMirror(t *testing.T, arguments ...string) string {
	t.Helper()
	output, err := karmadaMirror(t, arguments...)
	if err != nil {
		t.Fatalf("karmada-mirror %s: %v: %s", strings.Join(arguments, " "), err, output)
	}
	return output
}

func held(resource string) string {
	return fmt.Sprintf("karmada_mirror_deletions_held{resource=%q}", resource)
}

func createPages(t *testing.T, namespace, clusters string, n int) (ids []render.Identity) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("page-%d", i)
		create(t, configMaps, configMap(namespace, name, clusters, "one"))
		ids = append(ids, render.Identity{Kind: "ConfigMap", Namespace: namespace, Name: name})
	}
	return ids
}

func removeAll(t *testing.T, gvr schema.GroupVersionResource, namespace, selector string) {
	t.Helper()
	err := env.admin.Resource(gvr).Namespace(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
}

// allPages leaves out the ConfigMap that Kubernetes puts into each namespace.
const allPages = "metadata.name!=kube-root-ca.crt"

// TestBreaker deletes everything at once, and looks whether anything but an
// approval lets it go.
func TestBreaker(t *testing.T) {
	const sources = 60
	d := startDaemon(t)
	quiesce(t)
	configure(t, strings.Replace(resources("configmaps"), breakerOff, breakerOn, 1))
	ns := newNamespace(t)
	f := newFault(t, "60 of 60 objects deleted at once; the daemon restarted", ns)
	f.note = "all held, across a restart, until approved"
	ids := createPages(t, ns, push, sources)
	wantInMembers(t, ns, fmt.Sprintf("page-%d", sources-1), "one", push)
	eventually(t, "the Works", func(ctx context.Context) error { return disagreement(ctx, ns, configMaps) })

	removeAll(t, configMaps, ns, allPages)
	eventually(t, "all deletions to be held", d.wantMetric(held("configmaps"), fmt.Sprint(sources)))
	wantEvent(t, system, account, "DeletionHeld")

	// What is wanted again is pending no longer, so that the number that is left
	// would trip nothing: the marks alone hold it.
	for i := range sources - 2 {
		create(t, configMaps, configMap(ns, fmt.Sprintf("page-%d", i), push, "two"))
	}
	eventually(t, "two deletions to be left", d.wantMetric(held("configmaps"), "2"))
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	d = startDaemon(t)
	eventually(t, "the syncs after a restart", atLeastSyncs(d, sources-2))
	eventually(t, "the two to be refused", d.wantMetric(`karmada_mirror_refused_sources{reason="DeletionHeld"}`, "2"))
	f.wantNoDeletes()

	t.Run("Approved", func(t *testing.T) {
		wantLine(t, mustKarmadaMirror(t, "deletions", "list"), `^configmaps +2 +2 +member1 +\S+Z$`)
		wantLine(t, mustKarmadaMirror(t, "deletions", "list", "--works"), `^configmaps +ConfigMap/`+ns+`/page-59 +member1 +\S+Z +the source does not exist$`)
		if output, err := karmadaMirror(t, "deletions", "approve", "--resource", "secrets"); err == nil {
			t.Errorf("an approval of nothing: %s", output)
		}
		for _, id := range ids[sources-2:] {
			f.allow(id, push)
		}
		f.heal()
		wantLine(t, mustKarmadaMirror(t, "deletions", "approve", "--resource", "configmaps"), `^approved: 2 deletions of configmaps$`)
		f.converge(patience)
		wantLine(t, mustKarmadaMirror(t, "deletions", "list"), `^No deletion is held.$`)
	})
	t.Run("AnOldApprovalIsNotReplayed", func(t *testing.T) {
		f := newFault(t, "An approval from before, with another mass deletion", ns)
		removeAll(t, configMaps, ns, allPages)
		eventually(t, "all deletions to be held", d.wantMetric(held("configmaps"), fmt.Sprint(sources-2)))
		old := annotationOf(t, config.ApprovalsAnnotation)
		change(t, configMaps, system, account, setAnnotation(config.ApprovalsAnnotation, ""))
		change(t, configMaps, system, account, setAnnotation(config.ApprovalsAnnotation, old))
		change(t, configMaps, system, account, setAnnotation(config.ApprovalsAnnotation, "configmaps=2999-01-01T00:00:00Z"))
		wantEvent(t, system, account, "InvalidApproval")
		f.wantNoDeletes()
		for _, id := range ids {
			f.allow(id, push)
		}
		f.heal()
		mustKarmadaMirror(t, "deletions", "approve")
		f.converge(patience)
	})
}

func wantLine(t *testing.T, output, pattern string) {
	t.Helper()
	if !regexp.MustCompile(`(?m)` + pattern).MatchString(output) {
		t.Errorf("no line is like %q in:\n%s", pattern, output)
	}
}

func annotationOf(t *testing.T, key string) string {
	t.Helper()
	u, err := env.admin.Resource(configMaps).Namespace(system).Get(t.Context(), account, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return u.GetAnnotations()[key]
}

func machineID(namespace, name string) render.Identity {
	return render.Identity{Group: machines.Group, Kind: "VirtualMachine", Namespace: namespace, Name: name}
}

// startWithMachines starts a daemon that mirrors the examples' custom resource.
func startWithMachines(t *testing.T, flags ...string) *daemon {
	t.Helper()
	if err := karmada.Apply(t.Context(), env.Config(), repositoryFile(t, "examples", "virtualmachine", "clusterrole.yaml")); err != nil {
		t.Fatal(err)
	}
	configure(t, resources("configmaps", machines.GroupResource().String()))
	installMachines(t)
	d := startDaemon(t, flags...)
	eventually(t, "the resource to be ready", d.wantMetric(machinesState("ready"), "1"))
	quiesce(t)
	return d
}

func machinesState(state string) string {
	return fmt.Sprintf("karmada_mirror_watch_state{resource=%q,state=%q}", machines.GroupResource(), state)
}

func createMachines(t *testing.T, namespace, clusters string, n int) (ids []render.Identity) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("vm-%d", i)
		create(t, machines, machine(namespace, name, clusters))
		ids = append(ids, machineID(namespace, name))
	}
	eventually(t, "the Works", func(ctx context.Context) error { return disagreement(ctx, namespace, machines) })
	return ids
}

func TestDefinitionDeleted(t *testing.T) {
	const sources = 200
	resource := machines.GroupResource().String()
	d := startWithMachines(t)
	ns := newNamespace(t)
	ids := createMachines(t, ns, push, sources)
	f := newFault(t, "A CRD with 200 objects deleted; the daemon restarted", ns)
	f.note = "all held, across a restart, until approved"
	uninstallMachines(t)
	eventually(t, "all deletions to be held", d.wantMetric(held(resource), fmt.Sprint(sources)))
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	d = startDaemon(t)
	eventually(t, "all deletions to be held again", d.wantMetric(`karmada_mirror_refused_sources{reason="DeletionHeld"}`, fmt.Sprint(sources)))
	f.wantNoDeletes()
	for _, id := range ids {
		f.allow(id, push)
	}
	f.heal()
	mustKarmadaMirror(t, "deletions", "approve", "--resource", resource)
	f.converge(patience)
}

func TestDefinitionRecreated(t *testing.T) {
	const sources = 5
	d := startWithMachines(t)
	ns := newNamespace(t)
	createMachines(t, ns, both, sources)
	f := newFault(t, "A CRD deleted and made again, with its objects", ns, machines)
	pass(t, 1100*time.Millisecond) // creation timestamps have whole seconds
	uninstallMachines(t)
	installMachines(t)
	eventually(t, "what went with the first definition to be held", d.wantMetric(held(machines.GroupResource().String()), fmt.Sprint(2*sources)))
	for i := range sources {
		name := fmt.Sprintf("vm-%d", i)
		eventually(t, "the definition to serve", func(ctx context.Context) error {
			_, err := env.admin.Resource(machines).Namespace(ns).Create(ctx, machine(ns, name, both), metav1.CreateOptions{})
			return err
		})
	}
	f.heal()
	f.converge(10 * time.Second)
	eventually(t, "nothing to be held", d.wantMetric(held(machines.GroupResource().String()), "0"))
	removeMachines(t, ns)
}

// TestDefinitionRecreatedUnseen: the daemon hears nothing of definitions, and knows
// the first one only.
func TestDefinitionRecreatedUnseen(t *testing.T) {
	const sources = 5
	p := startProxy(t, env.kubeconfig)
	d := startWithMachines(t, "--kubeconfig", p.Kubeconfig())
	ns := newNamespace(t)
	createMachines(t, ns, both, sources)
	f := newFault(t, "A CRD deleted and made again, and no news of definitions", ns, machines)
	definitions := fault.Match{Verb: "watch", Resource: crds.Resource}
	silence := p.Inject(definitions, fault.Drop())
	p.End(definitions)
	eventually(t, "the watch of definitions to fall silent", func(context.Context) error { return hit(silence) })
	pass(t, 1100*time.Millisecond) // creation timestamps have whole seconds
	uninstallMachines(t)
	installMachines(t)
	eventually(t, "what went with the first definition to be held", d.wantMetric(held(machines.GroupResource().String()), fmt.Sprint(2*sources)))
	createMachines(t, ns, both, sources)
	f.heal()
	f.converge(patience)
	removeMachines(t, ns)
}

func TestDefinitionNotServed(t *testing.T) {
	const sources = 5
	d := startWithMachines(t)
	ns := newNamespace(t)
	createMachines(t, ns, both, sources)
	f := newFault(t, "A CRD set `served: false`", ns, machines)
	serve := func(served bool) {
		change(t, crds, "", machines.GroupResource().String(), func(u *unstructured.Unstructured) {
			versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
			for _, version := range versions {
				version.(map[string]any)["served"] = served
			}
			setField(versions, "spec", "versions")(u)
		})
	}
	serve(false)
	eventually(t, "the resource to be pending", d.wantMetric(machinesState("pending"), "1"))
	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
	f.wantNoDeletes()
	serve(true)
	f.heal()
	f.converge(patience)
	removeMachines(t, ns)
}

// removeMachines ends a test with nothing held.
func removeMachines(t *testing.T, namespace string) {
	t.Helper()
	removeAll(t, machines, namespace, "")
	eventually(t, "the Works to go", func(ctx context.Context) error { return disagreement(ctx, namespace, machines, configMaps) })
	uninstallMachines(t)
}
