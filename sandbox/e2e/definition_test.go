package e2e

import (
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
)

// machines is the custom resource of the examples.
var machines = schema.GroupVersionResource{Group: "cloudnative.czs", Version: "v1alpha1", Resource: "virtualmachines"}

func machine(namespace, name, clusters string) *unstructured.Unstructured {
	u := object("cloudnative.czs/v1alpha1", "VirtualMachine", namespace, name, map[string]any{"spec": map[string]any{
		"action":   "start",
		"resource": map[string]any{"cpu": int64(2), "memory": "4Gi", "rootDisk": "20Gi"},
	}})
	u.SetAnnotations(map[string]string{render.ClustersAnnotation: clusters})
	return u
}

func machineID(namespace, name string) render.Identity {
	return render.Identity{Group: machines.Group, Kind: "VirtualMachine", Namespace: namespace, Name: name}
}

func machinesState(state string) string {
	return fmt.Sprintf("karmada_mirror_watch_state{resource=%q,state=%q}", machines.GroupResource(), state)
}

func installMachines(t *testing.T) {
	t.Helper()
	definition := repositoryFile(t, "examples", "virtualmachine", "crd.yaml")
	if err := karmada.Apply(t.Context(), env.Config(), definition); err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{push, pull} {
		if err := karmada.Apply(t.Context(), env.MemberConfig(member), definition); err != nil {
			t.Fatal(err)
		}
	}
}

func uninstallMachines(t *testing.T) {
	t.Helper()
	remove(t, crds, "", machines.GroupResource().String())
	eventually(t, "the CustomResourceDefinition to go", func(ctx context.Context) error {
		_, err := env.admin.Resource(crds).Get(ctx, machines.GroupResource().String(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %v", err)
	})
}

// wholeSecond is what lies between two creation timestamps that differ.
const wholeSecond = 1100 * time.Millisecond

// replaceDefinition deletes the definition, and its objects with it, and makes it
// again.
func replaceDefinition(t *testing.T) {
	t.Helper()
	pass(t, wholeSecond)
	uninstallMachines(t)
	installMachines(t)
}

// removeMachines ends a test with nothing held.
func removeMachines(t *testing.T, namespace string) {
	t.Helper()
	removeAll(t, machines, namespace, "")
	eventually(t, "the Works to go", func(ctx context.Context) error { return disagreement(ctx, namespace, machines, configMaps) })
	uninstallMachines(t)
}

// startWithMachines starts a daemon that mirrors the examples' custom resource.
func startWithMachines(t *testing.T, flags ...string) *daemon {
	t.Helper()
	if err := karmada.Apply(t.Context(), env.Config(), repositoryFile(t, "examples", "virtualmachine", "clusterrole.yaml")); err != nil {
		t.Fatal(err)
	}
	configure(t, resources("configmaps", machines.GroupResource().String()))
	t.Cleanup(func() {
		if t.Failed() {
			forgetMachines(t)
		}
	})
	installMachines(t)
	d := startDaemon(t, flags...)
	eventually(t, "the resource to be ready", d.wantMetric(machinesState("ready"), "1"))
	quiesce(t)
	return d
}

// forgetMachines leaves nothing to the tests after one that has failed.
func forgetMachines(t *testing.T) {
	ctx := context.Background()
	_ = env.admin.Resource(crds).Delete(ctx, machines.GroupResource().String(), metav1.DeleteOptions{})
	list, err := env.admin.Resource(works).List(ctx, metav1.ListOptions{LabelSelector: render.ManagedByLabel})
	if err != nil {
		t.Log(err)
		return
	}
	for _, w := range list.Items {
		if strings.HasPrefix(w.GetAnnotations()[render.SourceAnnotation], "VirtualMachine.") {
			_ = env.admin.Resource(works).Namespace(w.GetNamespace()).Delete(ctx, w.GetName(), metav1.DeleteOptions{})
		}
	}
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

// mirrorMachines starts such a daemon and has it mirror machines of a new namespace.
func mirrorMachines(t *testing.T, clusters string, n int, flags ...string) (d *daemon, namespace string, ids []render.Identity) {
	t.Helper()
	d, namespace = startWithMachines(t, flags...), newNamespace(t)
	return d, namespace, createMachines(t, namespace, clusters, n)
}

func TestDefinitionThatComesAndGoes(t *testing.T) {
	if err := karmada.Apply(t.Context(), env.Config(), repositoryFile(t, "examples", "virtualmachine", "clusterrole.yaml")); err != nil {
		t.Fatal(err)
	}
	configure(t, resources("configmaps", machines.GroupResource().String()))
	d := startDaemon(t)
	ns := newNamespace(t)
	eventually(t, "the resource to be pending", d.wantMetric(machinesState("pending"), "1"))
	for round := range 2 {
		installMachines(t)
		name := fmt.Sprintf("vm-%d", round)
		eventually(t, "the resource to be ready", d.wantMetric(machinesState("ready"), "1"))
		create(t, machines, machine(ns, name, both))
		for _, member := range []string{push, pull} {
			eventually(t, name+" in "+member, func(ctx context.Context) error {
				u, err := env.members[member].Resource(machines).Namespace(ns).Get(ctx, name, metav1.GetOptions{})
				if err != nil {
					return err
				}
				if cpu, _, _ := unstructured.NestedInt64(u.Object, "spec", "resource", "cpu"); cpu != 2 {
					return fmt.Errorf("it has %d CPUs", cpu)
				}
				return nil
			})
		}
		pass(t, wholeSecond)
		uninstallMachines(t)
		eventually(t, "the resource to be pending again", d.wantMetric(machinesState("pending"), "1"))
	}
	// The others were not held up.
	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
	eventually(t, "what went with the definitions to be held", d.wantMetric(held(machines.GroupResource().String()), "4"))
	mustKarmadaMirror(t, "deletions", "approve")
	eventually(t, "the Works to go", func(ctx context.Context) error { return disagreement(ctx, ns, configMaps) })
}

func TestDefinitionDeleted(t *testing.T) {
	const sources = 200
	resource := machines.GroupResource().String()
	d, ns, ids := mirrorMachines(t, push, sources)
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
	d, ns, _ := mirrorMachines(t, both, sources)
	f := newFault(t, "A CRD deleted and made again, with its objects", ns, machines)
	replaceDefinition(t)
	f.heal()
	eventually(t, "what went with the first definition to be held", d.wantMetric(held(machines.GroupResource().String()), fmt.Sprint(2*sources)))
	for i := range sources {
		name := fmt.Sprintf("vm-%d", i)
		eventually(t, "the definition to serve", func(ctx context.Context) error {
			_, err := env.admin.Resource(machines).Namespace(ns).Create(ctx, machine(ns, name, both), metav1.CreateOptions{})
			return err
		})
	}
	f.converge(10*time.Second - time.Since(f.healed))
	eventually(t, "nothing to be held", d.wantMetric(held(machines.GroupResource().String()), "0"))
	removeMachines(t, ns)
}

// TestDefinitionRecreatedUnseen: the daemon hears nothing of definitions, and knows
// the first one only.
func TestDefinitionRecreatedUnseen(t *testing.T) {
	const sources = 5
	p := startProxy(t, env.kubeconfig)
	d, ns, _ := mirrorMachines(t, both, sources, "--kubeconfig", p.Kubeconfig())
	f := newFault(t, "A CRD deleted and made again, and no news of definitions", ns, machines)
	definitions := fault.Match{Verb: "watch", Resource: crds.Resource}
	silence := p.Inject(definitions, fault.Drop())
	p.End(definitions)
	eventually(t, "the watch of definitions to fall silent", func(context.Context) error { return hit(silence) })
	replaceDefinition(t)
	eventually(t, "what went with the first definition to be held", d.wantMetric(held(machines.GroupResource().String()), fmt.Sprint(2*sources)))
	f.heal()
	createMachines(t, ns, both, sources)
	f.converge(patience)
	removeMachines(t, ns)
}

func TestDefinitionNotServed(t *testing.T) {
	const sources = 5
	d, ns, _ := mirrorMachines(t, both, sources)
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

// timeToWork is how long a new ConfigMap takes to become a Work, the median of
// some.
func timeToWork(t *testing.T, namespace, prefix string) time.Duration {
	t.Helper()
	var took []time.Duration
	for i := range 9 {
		name := fmt.Sprintf("%s-%d", prefix, i)
		begin := time.Now()
		create(t, configMaps, configMap(namespace, name, push, "one"))
		for work := configMapWork(namespace, name, push); ; pass(t, time.Millisecond) {
			if _, err := getWork(t.Context(), work); err == nil {
				break
			} else if time.Since(begin) > patience {
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
	configure(t, configurationHead+breakerOff+"resources:\n- {resource: configmaps}\n- {group: "+group+", version: v2, resource: blobs}\n")
	blobs := installBlobs(t, group)
	d := startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	create(t, blobs, blob(group, ns, "x", push, "one"))
	wantBlobs := func() {
		t.Helper()
		eventually(t, "the Works", func(ctx context.Context) error {
			return disagreement(ctx, ns, configMaps, blobs)
		})
	}
	wantBlobs()
	before := timeToWork(t, ns, "before")
	f := newFault(t, "Conversion webhook of one CRD dead", ns, blobs)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := listener.Addr().String()
	if err := listener.Close(); err != nil { // from here on nobody answers there
		t.Fatal(err)
	}
	applyBlobs(t, group, fmt.Sprintf("  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://%s/'}}}", dead))
	eventually(t, "the conversion to fail", func(ctx context.Context) error {
		_, err := env.admin.Resource(blobs).Namespace(ns).Get(ctx, "x", metav1.GetOptions{})
		if err == nil {
			return errors.New("it works")
		}
		return nil
	})
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	d = spawnDaemon(t)
	eventually(t, "the watch to be degraded", d.wantMetric(fmt.Sprintf(`karmada_mirror_watch_state{resource="blobs.%s",state="degraded"}`, group), "1"))
	during := timeToWork(t, ns, "during")
	f.note = fmt.Sprintf("annotate → Work of the others, median: %s before, %s during", before.Round(time.Millisecond), during.Round(time.Millisecond))
	if during > 2*before+200*time.Millisecond { // on a busy machine; a sync that waits takes seconds
		t.Errorf("others are held up: %s", f.note)
	}
	if lines := d.logged("cannot list or watch, trying again"); lines > 2 {
		t.Errorf("%d lines of the log are about the one resource", lines)
	}
	f.wantNoDeletes()
	applyBlobs(t, group, "  conversion: {strategy: None}")
	f.heal()
	f.converge(2 * patience)
}
