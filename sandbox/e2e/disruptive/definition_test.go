package disruptive

import (
	"k8s.io/apimachinery/pkg/types"

	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// machines is the custom resource of the examples.
var machines = schema.GroupVersionResource{Group: "cloudnative.czs", Version: "v1alpha1", Resource: "virtualmachines"}

func machine(namespace, name, clusters string) *unstructured.Unstructured {
	u := Object("cloudnative.czs/v1alpha1", "VirtualMachine", namespace, name, map[string]any{"spec": map[string]any{
		"action":   "start",
		"resource": map[string]any{"cpu": int64(2), "memory": "4Gi", "rootDisk": "20Gi"},
	}})
	u.SetAnnotations(map[string]string{render.ClustersAnnotation: clusters})
	return u
}

func machineID(namespace, name string) render.Identity {
	return render.Identity{Group: machines.Group, Kind: "VirtualMachine", Namespace: namespace, Name: name}
}

func machinesState(state string) string { return WatchState(machines.GroupResource().String(), state) }

func installMachines(t *testing.T) {
	t.Helper()
	definition := RepositoryFile(t, "examples", "virtualmachine", "crd.yaml")
	if err := karmada.Apply(t.Context(), Env.Config(), definition); err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{Push, Pull} {
		if err := karmada.Apply(t.Context(), Env.MemberConfig(member), definition); err != nil {
			t.Fatal(err)
		}
	}
}

func uninstallMachines(t *testing.T) {
	t.Helper()
	Remove(t, Definitions, "", machines.GroupResource().String())
	Eventually(t, "the CustomResourceDefinition to be deleted", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(Definitions).Get(ctx, machines.GroupResource().String(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it still exists: %v", err)
	})
}

// wholeSecond passes between two creation timestamps, so that they differ.
const wholeSecond = 1100 * time.Millisecond

// replaceDefinition deletes the definition, and its objects with it, and recreates it.
func replaceDefinition(t *testing.T) {
	t.Helper()
	Pass(t, wholeSecond)
	uninstallMachines(t)
	installMachines(t)
}

// removeMachines ends a test without leaving held deletions.
func removeMachines(t *testing.T, namespace string) {
	t.Helper()
	RemoveAll(t, machines, namespace, "")
	Eventually(t, "the Works to be deleted", func(ctx context.Context) error { return Disagreement(ctx, namespace, machines, ConfigMaps) })
	uninstallMachines(t)
}

// startWithMachines starts a daemon that mirrors the examples' custom resource.
func startWithMachines(t *testing.T, flags ...string) *Daemon {
	t.Helper()
	if err := karmada.Apply(t.Context(), Env.Config(), RepositoryFile(t, "examples", "virtualmachine", "clusterrole.yaml")); err != nil {
		t.Fatal(err)
	}
	Configure(t, Resources(t, "configmaps", machines.GroupResource().String()))
	t.Cleanup(func() {
		if t.Failed() {
			forgetMachines(t)
		}
	})
	installMachines(t)
	d := StartDaemon(t, flags...)
	Eventually(t, "the resource to be ready", d.WantMetric(machinesState("ready"), 1))
	Quiesce(t)
	return d
}

// forgetMachines cleans up after a failed test, for the tests after it.
func forgetMachines(t *testing.T) {
	ctx := context.Background()
	_ = Env.Admin.Resource(Definitions).Delete(ctx, machines.GroupResource().String(), metav1.DeleteOptions{})
	list, err := Env.Admin.Resource(Works).List(ctx, metav1.ListOptions{LabelSelector: render.ManagedByLabel})
	if err != nil {
		t.Log(err)
		return
	}
	for _, w := range list.Items {
		if strings.HasPrefix(w.GetAnnotations()[render.SourceAnnotation], "VirtualMachine.") {
			_ = Env.Admin.Resource(Works).Namespace(w.GetNamespace()).Delete(ctx, w.GetName(), metav1.DeleteOptions{})
		}
	}
}

func createMachines(t *testing.T, namespace, clusters string, n int) (ids []render.Identity) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("vm-%d", i)
		Create(t, machines, machine(namespace, name, clusters))
		ids = append(ids, machineID(namespace, name))
	}
	Eventually(t, "the Works", func(ctx context.Context) error { return Disagreement(ctx, namespace, machines) })
	return ids
}

// mirrorMachines starts such a daemon and has it mirror machines in a new namespace.
func mirrorMachines(t *testing.T, clusters string, n int, flags ...string) (d *Daemon, namespace string, ids []render.Identity) {
	t.Helper()
	d, namespace = startWithMachines(t, flags...), NewNamespace(t)
	return d, namespace, createMachines(t, namespace, clusters, n)
}

func TestDefinitionThatComesAndGoes(t *testing.T) {
	if err := karmada.Apply(t.Context(), Env.Config(), RepositoryFile(t, "examples", "virtualmachine", "clusterrole.yaml")); err != nil {
		t.Fatal(err)
	}
	Configure(t, Resources(t, "configmaps", machines.GroupResource().String()))
	d := StartDaemon(t)
	ns := NewNamespace(t)
	Eventually(t, "the resource to be pending", d.WantMetric(machinesState("pending"), 1))
	for round := range 2 {
		installMachines(t)
		name := fmt.Sprintf("vm-%d", round)
		Eventually(t, "the resource to be ready", d.WantMetric(machinesState("ready"), 1))
		Create(t, machines, machine(ns, name, Both))
		for _, member := range []string{Push, Pull} {
			Eventually(t, name+" in "+member, func(ctx context.Context) error {
				u, err := Env.Member(member).Resource(machines).Namespace(ns).Get(ctx, name, metav1.GetOptions{})
				if err != nil {
					return err
				}
				if cpu, _, _ := unstructured.NestedInt64(u.Object, "spec", "resource", "cpu"); cpu != 2 {
					return fmt.Errorf("it has %d CPUs", cpu)
				}
				return nil
			})
		}
		Pass(t, wholeSecond)
		uninstallMachines(t)
		Eventually(t, "the resource to be pending again", d.WantMetric(machinesState("pending"), 1))
	}
	// Other resources were not held up.
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	WantInMembers(t, ns, "page", "one", Push, Pull)
	Eventually(t, "deletions of objects deleted with their definitions to be held", d.WantMetric(Held(machines.GroupResource().String()), 4))
	MustKarmadaMirror(t, "deletions", "approve", "--yes")
	Eventually(t, "the Works to be deleted", func(ctx context.Context) error { return Disagreement(ctx, ns, ConfigMaps) })
}

func TestDefinitionDeleted(t *testing.T) {
	const sources = definedObjects
	resource := machines.GroupResource().String()
	d, ns, ids := mirrorMachines(t, Push, sources)
	f := NewFault(t, fmt.Sprintf("A CRD with %d objects deleted; the daemon restarted", sources), ns)
	f.Note = "all held, across a restart, until approved"
	uninstallMachines(t)
	Eventually(t, "all deletions to be held", d.WantMetric(Held(resource), float64(sources)))
	WantEvent(t, Home(t), Account, "DeletionHeld", resource, "their CRD was deleted")
	d.MustStop(t)
	d = StartDaemon(t)
	Eventually(t, "all deletions to be held again", d.WantMetric(`karmada_mirror_refused_sources{reason="DeletionHeld"}`, float64(sources)))
	f.WantNoDeletes()
	for _, id := range ids {
		f.Allow(id, Push)
	}
	f.Heal()
	MustKarmadaMirror(t, "deletions", "approve", "--yes", "--resource", resource)
	f.Converge(Patience)
}

func TestDefinitionRecreated(t *testing.T) {
	const sources = 5
	d, ns, _ := mirrorMachines(t, Both, sources)
	f := NewFault(t, "A CRD deleted and recreated, with its objects", ns, machines)
	replaceDefinition(t)
	f.Heal()
	Eventually(t, "deletions of objects deleted with the first definition to be held", d.WantMetric(Held(machines.GroupResource().String()), float64(2*sources)))
	for i := range sources {
		name := fmt.Sprintf("vm-%d", i)
		Eventually(t, "the definition to serve", func(ctx context.Context) error {
			_, err := Env.Admin.Resource(machines).Namespace(ns).Create(ctx, machine(ns, name, Both), metav1.CreateOptions{})
			return err
		})
	}
	f.Converge(Patience)
	Eventually(t, "nothing to be held", d.WantMetric(Held(machines.GroupResource().String()), 0))
	f.End()
	removeMachines(t, ns)
}

// TestDefinitionRecreatedUnseen silences the watch of definitions, so that the daemon only
// knows the first one.
func TestDefinitionRecreatedUnseen(t *testing.T) {
	const sources = 5
	p := StartProxy(t)
	d, ns, _ := mirrorMachines(t, Both, sources, "--kubeconfig", p.Kubeconfig())
	f := NewFault(t, "A CRD deleted and recreated, with no events for definitions", ns, machines)
	definitions := fault.Match{Verb: "watch", Resource: Definitions.Resource}
	silence := p.Inject(definitions, fault.Drop())
	p.End(definitions)
	Eventually(t, "the watch of definitions to fall silent", func(context.Context) error { return Hit(silence) })
	replaceDefinition(t)
	Eventually(t, "deletions of objects deleted with the first definition to be held", d.WantMetric(Held(machines.GroupResource().String()), float64(2*sources)))
	f.Heal()
	createMachines(t, ns, Both, sources)
	f.Converge(Patience)
	f.End()
	removeMachines(t, ns)
}

func TestDefinitionNotServed(t *testing.T) {
	const sources = 5
	d, ns, _ := mirrorMachines(t, Both, sources)
	f := NewFault(t, "A CRD set `served: false`", ns, machines)
	serveMachines(t, false)
	Eventually(t, "the resource to be pending", d.WantMetric(machinesState("pending"), 1))
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	WantInMembers(t, ns, "page", "one", Push, Pull)
	f.WantNoDeletes()
	serveMachines(t, true)
	f.Heal()
	editMachine(t, ns, "vm-0") // which only a resumed watch sees
	f.Converge(Patience)
	f.End()
	removeMachines(t, ns)
}

// TestDefinitionDeletedUnserved: the deletion of a definition that was no longer served ends no
// watch, and yet its objects are gone.
func TestDefinitionDeletedUnserved(t *testing.T) {
	const sources = 5
	resource := machines.GroupResource().String()
	d, ns, ids := mirrorMachines(t, Push, sources)
	f := NewFault(t, "A CRD set `served: false`, and later deleted", ns)
	f.Note = "all held until approved"
	serveMachines(t, false)
	Eventually(t, "the resource to be pending", d.WantMetric(machinesState("pending"), 1))
	uninstallMachines(t)
	Eventually(t, "all deletions to be held", d.WantMetric(Held(resource), float64(sources)))
	f.WantNoDeletes()
	if list := MustKarmadaMirror(t, "deletions", "list"); !strings.Contains(list, resource) {
		t.Errorf("deletions list does not show them:\n%s", list)
	}
	for _, id := range ids {
		f.Allow(id, Push)
	}
	f.Heal()
	MustKarmadaMirror(t, "deletions", "approve", "--yes", "--resource", resource)
	f.Converge(Patience)
}

// serveMachines makes the API server serve the machines, or not.
func serveMachines(t *testing.T, served bool) {
	t.Helper()
	Change(t, Definitions, "", machines.GroupResource().String(), func(u *unstructured.Unstructured) {
		versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
		for _, version := range versions {
			version.(map[string]any)["served"] = served
		}
		SetField(versions, "spec", "versions")(u)
	})
}

// editMachine edits a machine as soon as it is served.
func editMachine(t *testing.T, namespace, name string) {
	t.Helper()
	Eventually(t, "an edit of "+name, func(ctx context.Context) error {
		patch := []byte(`{"spec":{"resource":{"cpu":4}}}`)
		_, err := Env.Admin.Resource(machines).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

// timeToWork measures how long a new ConfigMap takes to become a Work: the median of
// several.
func timeToWork(t *testing.T, namespace, prefix string) time.Duration {
	t.Helper()
	var took []time.Duration
	for i := range 9 {
		name := fmt.Sprintf("%s-%d", prefix, i)
		begin := time.Now()
		Create(t, ConfigMaps, ConfigMap(namespace, name, Push, "one"))
		for work := ConfigMapWork(namespace, name, Push); ; Pass(t, time.Millisecond) {
			if _, err := GetWork(t.Context(), work); err == nil {
				break
			} else if time.Since(begin) > Patience {
				t.Fatal(err)
			}
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

func TestConversionWebhookDead(t *testing.T) {
	const group = "conversion.example"
	Configure(t, ConfigurationHead+BreakerOff+"resources:\n- {resource: configmaps}\n- {group: "+group+", version: v2, resource: blobs}\n")
	blobs := InstallBlobs(t, group)
	d := StartDaemon(t)
	Quiesce(t)
	ns := NewNamespace(t)
	Create(t, blobs, Blob(group, ns, "x", Push, "one"))
	wantBlobs := func() {
		t.Helper()
		Eventually(t, "the Works", func(ctx context.Context) error {
			return Disagreement(ctx, ns, ConfigMaps, blobs)
		})
	}
	wantBlobs()
	before := timeToWork(t, ns, "before")
	f := NewFault(t, "Conversion webhook of one CRD dead", ns, blobs)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := listener.Addr().String()
	if err := listener.Close(); err != nil { // from here on nothing answers there
		t.Fatal(err)
	}
	ApplyBlobs(t, group, fmt.Sprintf("  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://%s/'}}}", dead))
	Eventually(t, "the conversion to fail", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(blobs).Namespace(ns).Get(ctx, "x", metav1.GetOptions{})
		if err == nil {
			return errors.New("it succeeds")
		}
		return nil
	})
	d.MustStop(t)
	d = SpawnDaemon(t)
	Eventually(t, "the watch to be degraded", d.WantMetric(fmt.Sprintf(`karmada_mirror_watch_state{resource="blobs.%s",state="degraded"}`, group), 1))
	during := timeToWork(t, ns, "during")
	f.Note = fmt.Sprintf("annotate → Work of other resources, median: %s before, %s during", before.Round(time.Millisecond), during.Round(time.Millisecond))
	if during > before+2*time.Second { // tolerates a busy machine; a blocked sync takes longer
		t.Errorf("other resources are held up: %s", f.Note)
	}
	if lines := d.Logged("cannot list or watch, retrying"); lines > 2 {
		t.Errorf("the log has %d lines about this one resource", lines)
	}
	f.WantNoDeletes()
	ApplyBlobs(t, group, "  conversion: {strategy: None}")
	f.Heal()
	Eventually(t, "an edit, which only a resumed watch sees", func(ctx context.Context) error {
		patch := []byte(`{"content":"two"}`)
		_, err := Env.Admin.Resource(blobs).Namespace(ns).Patch(ctx, "x", types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	f.Converge(2 * Patience)
}
