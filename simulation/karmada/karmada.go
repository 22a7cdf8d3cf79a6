// Package karmada is Karmada's controllers, its Work webhook and member clusters, in memory. The controllers work on an
// apiserver.Store directly: they learn of each write, keep small queues, and never poll. The package knows nothing of
// the product. What it does is read off Karmada v1.18.2; where 1.19 differs, Options.Version decides.
package karmada

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// Object is an object as the store has it; it is never changed once it is stored.
type Object = apiserver.Object

// Version is a version of Karmada.
type Version int

// V118 is Karmada v1.18.2. V119 repairs drift in the execution controller, finds the Work of a deleted object by the
// object's annotations, and says in the condition Applied when a repair fails.
const (
	V118 Version = iota
	V119
)

// Names that Karmada v1.18.2 has in pkg/util/constants.go and pkg/util/names, and the api module has not.
const (
	executionFinalizer = "karmada.io/execution-controller"
	clusterFinalizer   = "karmada.io/cluster-controller"
	bindingFinalizer   = "karmada.io/binding-controller"
	managedLabel       = "karmada.io/managed"
	systemLabel        = "karmada.io/system"
	retainReplicas     = "resourcetemplate.karmada.io/retain-replicas"
	executionPrefix    = "karmada-es-"
)

var (
	works      = schema.GroupResource{Group: workv1alpha1.GroupName, Resource: workv1alpha1.ResourcePluralWork}
	clusters   = schema.GroupResource{Group: clusterv1alpha1.GroupName, Resource: clusterv1alpha1.ResourcePluralCluster}
	namespaces = schema.GroupResource{Resource: "namespaces"}

	definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
)

// Options are the choices of New.
type Options struct {
	Version Version
	// Latency is how long a controller takes to see a write; nil is no time.
	Latency func() time.Duration
}

// Karmada is the controllers of a control plane. Close ends them.
type Karmada struct {
	control  *apiserver.Store
	options  Options
	recorder *recorder
	stops    []func()
	workers  sync.WaitGroup

	clusters   *queue[string]
	namespaces *queue[string]
	bindings   *queue[apiserver.Ref] // by source
	events     *queue[apiserver.Ref] // to expire

	mu      sync.Mutex
	members map[string]*Member // by the name of the cluster
	claims  map[apiserver.Ref]claim
}

// New starts the controllers on a control plane, and its Work webhook.
func New(control *apiserver.Store, options Options) *Karmada {
	k := &Karmada{control: control, options: options, recorder: &recorder{store: control, buckets: map[subject]*bucket{}, known: map[occurrence]*seen{}}, members: map[string]*Member{}, claims: map[apiserver.Ref]claim{}}
	k.clusters = startQueue(k, k.syncCluster)
	k.namespaces = startQueue(k, k.syncNamespace)
	k.bindings, k.events = startQueue(k, k.syncBinding), startQueue(k, k.expire)
	k.stops = append(k.stops, control.Admit(AdmitWork), control.Subscribe(k.see))
	k.list()
	return k
}

// Close ends all controllers, those of the members too, and waits for them.
func (k *Karmada) Close() {
	for _, stop := range slices.Backward(k.stops) {
		stop()
	}
	k.workers.Wait()
}

// startQueue runs a controller until Close.
func startQueue[K comparable](k *Karmada, handle func(K) error) *queue[K] {
	q := newQueue[K](k.options.Latency)
	k.stops = append(k.stops, q.close)
	k.workers.Go(func() { q.run(handle) })
	return q
}

// see tells the controllers of a write to the control plane.
func (k *Karmada) see(e apiserver.Event) {
	o := in(e.Object)
	switch e.Resource {
	case works:
		if m := k.Member(strings.TrimPrefix(o.GetNamespace(), executionPrefix)); m != nil {
			m.seeWork(e)
		}
	case clusters:
		k.clusters.add(o.GetName())
		if e.Old == nil {
			k.list()
		}
	case namespaces:
		if cluster, is := strings.CutPrefix(o.GetName(), executionPrefix); is {
			k.clusters.add(cluster)
		}
		k.namespaces.add(o.GetName())
	case events:
		k.events.after(e.Ref(), eventTTL)
	}
	k.seeSource(e.Ref())
}

// Member is the member of a cluster that has joined; nil if none of that name ever has.
func (k *Karmada) Member(cluster string) *Member {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.members[cluster]
}

// createOrUpdateWork writes the Work of one of Karmada's other controllers: it replaces the spec, merges labels,
// annotations and finalizers, and leaves the rest (pkg/controllers/ctrlutil/work.go).
func (k *Karmada) createOrUpdateWork(work, resource Object) error {
	ref, annotations := refOf(works, work), in(work).GetAnnotations()
	of := map[string]string{
		workv1alpha2.ResourceTemplateUIDAnnotation: string(in(resource).GetUID()),
		workv1alpha2.WorkNameAnnotation:            ref.Name, workv1alpha2.WorkNamespaceAnnotation: ref.Namespace,
	}
	if resolution, has := annotations[workv1alpha2.ResourceConflictResolutionAnnotation]; has {
		of[workv1alpha2.ResourceConflictResolutionAnnotation] = resolution
	}
	merge(resource, "labels", map[string]string{managedLabel: "true"})
	merge(resource, "annotations", of)
	if err := prune(resource); err != nil {
		return err
	}
	old := k.control.Get(ref)
	record(resource, in(old).GetLabels()[workv1alpha2.WorkPermanentIDLabel])
	objectAt(work, "spec")["workload"] = Object{"manifests": []any{resource}}
	if old == nil {
		_, err := k.control.Create(works, work)
		return err
	}
	if isEnding(old) {
		return fmt.Errorf("work %s/%s is being deleted", ref.Namespace, ref.Name)
	}
	_, err := k.control.Modify(ref, "", func(o Object) {
		merge(o, "labels", in(work).GetLabels())
		merge(o, "annotations", annotations)
		if finalizers := in(o).GetFinalizers(); !slices.Contains(finalizers, executionFinalizer) {
			in(o).SetFinalizers(append(finalizers, executionFinalizer))
		}
		o["spec"] = work["spec"]
	})
	return err
}
