package machine

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// executor stands in for Karmada's execution controller, without members: it reports Works
// as applied and Deployments as rolled out, and removes the finalizers of Works that are deleted.
type executor struct {
	client  dynamic.Interface
	works   cache.Store
	witness witness

	mu    sync.Mutex
	ended map[string][]ending // by namespace/name
	// lost are the overrides that writes have taken from Works.
	lost []loss
	// sick are the execution namespaces of clusters where nothing is applied.
	sick map[string]bool
}

// loss is a write that has taken an override from a Work.
type loss struct {
	work, policy string
	at           time.Time
}

// ending is a deleted Work.
type ending struct {
	uid types.UID
	at  time.Time
	// preserved says that its object stays in the member.
	preserved bool
}

// startExecutor runs an executor until the test ends.
func startExecutor(t *testing.T) *executor {
	e := &executor{client: e2e.Env.Admin, ended: map[string][]ending{}, sick: map[string]bool{}}
	informer := dynamicinformer.NewFilteredDynamicInformer(e.client, e2e.Works, metav1.NamespaceAll, 0, nil, nil).Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			e.witness.see(o.(*unstructured.Unstructured))
			e.execute(o.(*unstructured.Unstructured))
		},
		DeleteFunc: func(o any) {
			if work, ok := o.(*unstructured.Unstructured); ok {
				e.witness.forget(work)
			}
		},
		UpdateFunc: func(before, o any) {
			e.witness.see(o.(*unstructured.Unstructured))
			e.compare(before.(*unstructured.Unstructured), o.(*unstructured.Unstructured))
			e.execute(o.(*unstructured.Unstructured))
		},
	})
	e2e.Must(t, err)
	e.works = informer.GetStore()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return e
}

// compare records the policies that have changed a Work and no longer do.
func (e *executor) compare(before, now *unstructured.Unstructured) {
	const note = "karmada.target/overridden-by"
	current := strings.Split(now.GetAnnotations()[note], ",")
	if before.GetUID() != now.GetUID() || slices.Contains(current, strangePolicy) {
		return // it is another Work, or a user has edited the note
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, policy := range strings.Split(before.GetAnnotations()[note], ",") {
		if policy != "" && !slices.Contains(current, policy) {
			e.lost = append(e.lost, loss{now.GetNamespace() + "/" + now.GetName(), policy, time.Now()})
		}
	}
}

// lostAfter are the overrides that were lost after a time.
func (e *executor) lostAfter(at time.Time) []loss {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(e.lost), func(l loss) bool { return !l.at.After(at) })
}

func (e *executor) execute(work *unstructured.Unstructured) {
	works := e.client.Resource(e2e.Works).Namespace(work.GetNamespace())
	ctx := context.Background()
	if work.GetDeletionTimestamp() != nil {
		e.end(work)
		_, _ = works.Patch(ctx, work.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		return
	}
	if isSuspended, _, _ := unstructured.NestedBool(work.Object, "spec", "suspendDispatching"); isSuspended {
		return
	}
	status, applied := map[string]any{}, metav1.ConditionTrue
	if e.isSick(work.GetNamespace()) {
		applied = metav1.ConditionFalse
	}
	if !isApplied(work, applied) {
		status["conditions"] = []any{map[string]any{"type": "Applied", "status": string(applied), "reason": "Machine", "message": "", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}}
	}
	if reports := rolledOut(work); applied == metav1.ConditionTrue && !equality.Semantic.DeepEqual(reports, nestedSlice(work, "status", "manifestStatuses")) {
		status["manifestStatuses"] = reports
	}
	if len(status) > 0 {
		patch, _ := json.Marshal(map[string]any{"status": status}) // of values that can be encoded
		_, _ = works.Patch(ctx, work.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	}
}

// isApplied reports whether a Work has the condition Applied with a status.
func isApplied(work *unstructured.Unstructured, status metav1.ConditionStatus) bool {
	return slices.ContainsFunc(nestedSlice(work, "status", "conditions"), func(item any) bool {
		c, _ := item.(map[string]any)
		return c["type"] == "Applied" && c["status"] == string(status)
	})
}

func (e *executor) isSick(namespace string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sick[namespace]
}

// ail makes a cluster apply nothing any more, and heal makes all apply everything again.
func (e *executor) ail(cluster string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sick["karmada-es-"+cluster] = true
}

func (e *executor) heal() {
	e.mu.Lock()
	e.sick = map[string]bool{}
	e.mu.Unlock()
	for _, work := range e.works.List() {
		e.execute(work.(*unstructured.Unstructured))
	}
}

// rolledOut is what Karmada reports of a Deployment in a Work once its Pods are available; nil if
// there is none in it.
func rolledOut(work *unstructured.Unstructured) []any {
	manifest, err := e2e.ManifestOf(work)
	if err != nil || manifest.GetKind() != deployment.Kind {
		return nil
	}
	replicas, _, _ := unstructured.NestedInt64(manifest.Object, "spec", "replicas")
	of, _ := strconv.ParseInt(manifest.GetAnnotations()["resourcetemplate.karmada.io/generation"], 10, 64)
	status := map[string]any{
		"replicas": replicas, "readyReplicas": replicas, "updatedReplicas": replicas, "availableReplicas": replicas,
		"generation": work.GetGeneration(), "observedGeneration": work.GetGeneration(), "resourceTemplateGeneration": of,
	}
	maps.DeleteFunc(status, func(_ string, value any) bool { return value == int64(0) }) // as in Kubernetes
	identifier := map[string]any{
		"ordinal": int64(0), "group": "apps", "version": "v1", "kind": deployment.Kind, "resource": e2e.Deployments.Resource,
		"namespace": manifest.GetNamespace(), "name": manifest.GetName(),
	}
	return []any{map[string]any{"identifier": identifier, "status": status, "health": "Healthy"}}
}

func nestedSlice(u *unstructured.Unstructured, fields ...string) []any {
	found, _, _ := unstructured.NestedSlice(u.Object, fields...)
	return found
}

// end records a deletion, once.
func (e *executor) end(work *unstructured.Unstructured) {
	preserved, _, _ := unstructured.NestedBool(work.Object, "spec", "preserveResourcesOnDeletion")
	e.mu.Lock()
	defer e.mu.Unlock()
	key := work.GetNamespace() + "/" + work.GetName()
	for _, known := range e.ended[key] {
		if known.uid == work.GetUID() {
			return
		}
	}
	e.ended[key] = append(e.ended[key], ending{work.GetUID(), time.Now(), preserved})
}

// endingAfter is the first deletion of a Work that was seen after a time.
func (e *executor) endingAfter(key string, at time.Time) (ending, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, known := range e.ended[key] {
		if known.at.After(at) {
			return known, true
		}
	}
	return ending{}, false
}
