package parity

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/karmada-io/karmada/pkg/resourceinterpreter/default/native"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"

	"github.com/karmada-target/karmada-mirror/render/aggregate"
)

// strategies are what an API server does with a new status of each kind.
var strategies = map[string]rest.RESTUpdateStrategy{
	"Deployment": deployment.StatusStrategy, "StatefulSet": statefulset.StatusStrategy, "DaemonSet": daemonset.StatusStrategy, "ReplicaSet": replicaset.StatusStrategy,
	"Job": job.StatusStrategy, "CronJob": cronjob.StatusStrategy, "Service": service.StatusStrategy, "Pod": pod.StatusStrategy, "PersistentVolumeClaim": persistentvolumeclaim.StatusStrategy,
	"Ingress": ingress.StatusStrategy, "PodDisruptionBudget": poddisruptionbudget.StatusStrategy, "HorizontalPodAutoscaler": horizontalpodautoscaler.StatusStrategy,
}

// TestStatusIsAccepted writes the status of sources again and again, by the API server's own code,
// while their members report what an API server would accept from them. It must never be refused,
// and never need a second write.
func TestStatusIsAccepted(t *testing.T) {
	klog.SetLogger(klog.Logger{}) // Karmada logs each error
	t.Cleanup(klog.ClearLogger)
	interpreter := native.NewDefaultInterpreter()
	random := rand.New(rand.NewPCG(32, 33))
	written, karmadaRefused := map[string]int{}, map[string]int{}
	for range manySources {
		k := pick(random, aggregateKinds...)
		source := newStored(k)
		for range 1 + random.IntN(4) {
			c := aggregateCase{kind: k, source: source, members: newAcceptedMembers(t, random, interpreter, k)}
			if theirs, err := c.karmada(interpreter); err != nil {
				t.Fatal(err)
			} else if _, err := store(t, source, theirs); err != nil {
				karmadaRefused[k.kind]++
			}
			source = c.write(t)
			written[k.kind]++
		}
	}
	t.Logf("written: %v, of which the API server would refuse Karmada's: %v", written, karmadaRefused)
	if len(written) != len(aggregateKinds) {
		t.Errorf("%d kinds are written, want %d", len(written), len(aggregateKinds))
	}
	if karmadaRefused["Job"] == 0 {
		t.Error("docs/decisions/status.md says that the API server refuses what Karmada writes to Jobs, but no case shows it")
	}
}

// write returns the source with its new status.
func (c aggregateCase) write(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	ours, err := aggregate.Status(c.source, c.members, time.Now())
	if err != nil {
		t.Fatalf("%v\n%s", err, c)
	}
	next, err := store(t, c.source, ours)
	if err != nil {
		t.Fatalf("the API server refuses our status: %v\n%v\n%s", err, ours, c)
	}
	again, err := aggregate.Status(next, c.members, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatalf("%v\n%s", err, c)
	}
	if !equality.Semantic.DeepEqual(next.Object["status"], any(again)) {
		t.Fatalf("another status follows from the stored one: stored %v, then %v\n%s", next.Object["status"], again, c)
	}
	return next
}

// newAcceptedMembers makes members of which two thirds are settled. Some are so old that they know
// neither FailureTarget nor SuccessCriteriaMet.
func newAcceptedMembers(t *testing.T, random *rand.Rand, interpreter *native.DefaultInterpreter, k aggregateKind) (members []aggregate.Member) {
	t.Helper()
	for i := range random.IntN(4) {
		m := aggregate.Member{Cluster: fmt.Sprint("m", i), Generation: 1, Settled: random.IntN(3) > 0}
		if random.IntN(6) > 0 {
			object := newAcceptedObject(t, random, k)
			if status := object.Object["status"].(map[string]any); random.IntN(3) == 0 && k.kind == "Job" {
				status["conditions"] = without(status["conditions"], "FailureTarget", "SuccessCriteriaMet")
			}
			m.Status = reflectStatus(t, interpreter, object)
		}
		members = append(members, m)
	}
	return members
}

// newAcceptedObject makes a member's object, with a status that its API server has accepted.
func newAcceptedObject(t *testing.T, random *rand.Rand, k aggregateKind) *unstructured.Unstructured {
	t.Helper()
	for range 10_000 {
		object := newAggregateObject(t, random, k)
		stored, err := store(t, newStored(k), object.Object["status"].(map[string]any))
		if err != nil {
			continue
		}
		stored.SetGeneration(object.GetGeneration())
		stored.SetAnnotations(map[string]string{"resourcetemplate.karmada.io/generation": fmt.Sprint(1 + random.IntN(2))})
		return stored
	}
	t.Fatalf("no random status of a %s is accepted", k.kind)
	return nil
}

// newStored makes an object without a status, as an API server returns it.
func newStored(k aggregateKind) *unstructured.Unstructured {
	u := k.newObject()
	u.Object["spec"] = map[string]any{}
	switch k.kind {
	case "Service":
		u.Object["spec"] = map[string]any{"type": "LoadBalancer"}
	case "PersistentVolumeClaim":
		u.Object["spec"] = map[string]any{"accessModes": []any{"ReadWriteOnce"}}
	case "Pod":
		u.Object["status"] = map[string]any{"phase": "Pending", "qosClass": "BestEffort"}
	}
	u.SetGeneration(1)
	u.SetUID("5a2c7f0e-1f0b-4d43-9d2e-0c8d5f3e7a11")
	u.SetResourceVersion("1")
	u.SetCreationTimestamp(metav1.NewTime(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)))
	return u
}

// store returns the object after an update of its status, or why the API server refuses it.
func store(t *testing.T, u *unstructured.Unstructured, status map[string]any) (*unstructured.Unstructured, error) {
	t.Helper()
	next := u.DeepCopy()
	next.Object["status"] = status
	strategy := strategies[u.GetKind()]
	ctx := genericrequest.WithNamespace(t.Context(), u.GetNamespace())
	updated := decodeInternal(t, next)
	if err := rest.BeforeUpdate(strategy, ctx, updated, decodeInternal(t, u)); err != nil {
		return nil, err
	}
	encoded, err := runtime.Encode(legacyscheme.Codecs.LegacyCodec(u.GroupVersionKind().GroupVersion()), updated)
	if err != nil {
		t.Fatal(err)
	}
	stored := &unstructured.Unstructured{}
	if err := stored.UnmarshalJSON(encoded); err != nil {
		t.Fatal(err)
	}
	return stored, nil
}

// decodeInternal decodes an object with the defaults that an API server sets.
func decodeInternal(t *testing.T, u *unstructured.Unstructured) runtime.Object {
	t.Helper()
	encoded, err := json.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), encoded)
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}
