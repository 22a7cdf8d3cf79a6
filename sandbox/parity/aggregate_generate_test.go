package parity

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/resourceinterpreter/default/native"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/karmada-target/karmada-mirror/render/aggregate"
)

// aggregateKind is a kind with a rule.
type aggregateKind struct {
	apiVersion, kind string
	// counts are the numbers that Karmada sets, and others its other fields.
	counts, others string
	// status is the shape of all but the counts, of sources as well as of members.
	status any
}

// sets reports whether Karmada sets a field.
func (k aggregateKind) sets(field string) bool {
	return slices.Contains(strings.Fields(k.counts+" "+k.others), field)
}

var aggregateKinds = []aggregateKind{
	{"apps/v1", "Deployment", "replicas updatedReplicas readyReplicas availableReplicas unavailableReplicas", "observedGeneration", fields{
		"observedGeneration": aGeneration, "conditions": each{maybe(3, rollout("Available")), maybe(3, rollout("ReplicaFailure")), maybe(3, rollout("Progressing"))},
	}},
	{"apps/v1", "StatefulSet", "replicas readyReplicas currentReplicas updatedReplicas availableReplicas", "observedGeneration", fields{"observedGeneration": aGeneration}},
	{"apps/v1", "DaemonSet", "currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady updatedNumberScheduled numberAvailable numberUnavailable", "observedGeneration",
		fields{"observedGeneration": aGeneration}},
	{"apps/v1", "ReplicaSet", "replicas readyReplicas availableReplicas", "observedGeneration", fields{"observedGeneration": aGeneration, "fullyLabeledReplicas": count}},
	{"batch/v1", "Job", "succeeded failed", "active startTime completionTime", jobStatus},
	{"batch/v1", "CronJob", "", "active lastScheduleTime lastSuccessfulTime", fields{
		"active":           some{0, 2, fields{"kind": "Job", "name": joined{"job-", oneOf{0, 1, 2, 3, 4}}}},
		"lastScheduleTime": once{3, nothing{}, moment}, "lastSuccessfulTime": once{3, nothing{}, moment},
	}},
	{"v1", "Service", "", "loadBalancer", fields{"loadBalancer": addresses(maybe(2, oneOf{"VIP", "Proxy"})), "conditions": maybe(4, each{fields{"type": "LoadBalancerPortsError", "status": "True", "lastTransitionTime": moment}})}},
	{"v1", "Pod", "", "phase containerStatuses initContainerStatuses", fields{
		"phase":    oneOf{"Pending", "Running", "Running", "Running", "Succeeded", "Succeeded", "Failed", "Unknown", ""},
		"qosClass": oneOf{"", "BestEffort"}, "podIP": oneOf{"", "10.1.0.1"}, "containerStatuses": some{0, 2, container}, "initContainerStatuses": maybe(3, some{0, 2, container}),
	}},
	{"v1", "PersistentVolumeClaim", "", "phase", fields{"phase": oneOf{"Bound", "Bound", "Bound", "Pending", "Lost", "New"}, "capacity": maybe(2, fields{"storage": "1Gi"})}},
	{"networking.k8s.io/v1", "Ingress", "", "loadBalancer", fields{"loadBalancer": addresses(nothing{})}},
	{"policy/v1", "PodDisruptionBudget", "disruptionsAllowed currentHealthy desiredHealthy expectedPods", "disruptedPods", fields{
		"observedGeneration": aGeneration, "disruptedPods": entries{0, 2, oneOf{"web-0", "web-1"}, moment},
	}},
	{"autoscaling/v2", "HorizontalPodAutoscaler", "currentReplicas desiredReplicas", "", fields{}},
}

var (
	aGeneration = oneOf{0, 1, 2, 3}
	container   = fields{"name": "c", "image": "i", "ready": oneOf{true, false}, "restartCount": 3, "state": maybe(2, fields{"running": fields{"startedAt": moment}})}
	end         = func(random *rand.Rand) any { return fmt.Sprintf("2026-11-24T%02d:00:00Z", random.IntN(24)) }
	completed   = oneOf{
		fields{"completionTime": end, "conditions": each{condition("SuccessCriteriaMet"), condition("Complete")}}, fields{"completionTime": end, "conditions": each{condition("Complete")}},
	}
	jobStatus = merged{
		fields{"active": maybe(3, count), "startTime": once{5, nothing{}, moment}, "completedIndexes": oneOf{nothing{}, nothing{}, "0-1"}},
		oneOf{
			completed, completed, completed, completed, fields{"conditions": each{condition("FailureTarget"), condition("Failed")}},
			fields{"conditions": each{oneOf{condition("Suspended"), condition("Complete"), condition("FailureTarget")}}}, fields{"completionTime": end}, fields{},
		},
	}
)

func addresses(mode any) any {
	return fields{"ingress": some{0, 2, fields{
		"hostname": oneOf{"", "", "a.example", "b.example"}, "ip": oneOf{"", "10.0.0.1", "10.0.0.2"}, "ipMode": mode,
		"ports": some{0, 2, fields{"port": oneOf{80, 81}, "protocol": oneOf{"TCP", "UDP"}, "error": maybe(3, oneOf{"InUse", "Denied"})}},
	}}}
}

func condition(kind string) any {
	return fields{"type": kind, "status": oneOf{"True", "True", "True", "False"}, "lastProbeTime": moment}
}

func rollout(kind string) any {
	return fields{"type": kind, "status": oneOf{"True", "False"}, "lastUpdateTime": moment}
}

func moment(random *rand.Rand) any {
	return fmt.Sprintf("2026-11-23T%02d:%02d:00Z", random.IntN(24), random.IntN(60))
}

// count makes a count. Few are so large that sums overflow, and fewer negative.
func count(random *rand.Rand) any {
	switch random.IntN(400) {
	case 0, 1:
		return math.MaxInt32 - random.Int64N(2)
	case 2:
		return int64(-1)
	}
	return random.Int64N(4)
}

func newAggregateCase(t *testing.T, random *rand.Rand, interpreter *native.DefaultInterpreter) aggregateCase {
	t.Helper()
	k := pick(random, aggregateKinds...)
	source := newAggregateObject(t, random, k)
	if random.IntN(4) == 0 {
		delete(source.Object, "status")
	}
	c := aggregateCase{kind: k, source: source}
	for i := range random.IntN(4) {
		m := aggregate.Member{Cluster: fmt.Sprint("m", i), Generation: source.GetGeneration(), Settled: true}
		m.Status = newReport(t, random, interpreter, k)
		c.members = append(c.members, m)
	}
	return c
}

// newAggregateObject makes an object as an API server would return it.
func newAggregateObject(t *testing.T, random *rand.Rand, k aggregateKind) *unstructured.Unstructured {
	t.Helper()
	status := draw(random, k.status).(map[string]any)
	for _, field := range strings.Fields(k.counts) {
		status[field] = count(random)
	}
	u := k.newObject()
	u.Object["status"] = status
	u.Object["status"] = typedStatus(t, u)
	u.SetGeneration(1 + random.Int64N(3))
	switch k.kind {
	case "Service":
		u.Object["spec"] = map[string]any{"type": pick(random, "LoadBalancer", "LoadBalancer", "LoadBalancer", "ClusterIP")}
	case "Deployment":
		u.Object["spec"] = map[string]any{"replicas": random.Int64N(7)}
	}
	return u
}

// newObject makes an object of the kind without content.
func (k aggregateKind) newObject() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": k.apiVersion, "kind": k.kind, "metadata": map[string]any{"namespace": "shop", "name": "web"},
	}}
}

// typedStatus returns the status with the fields that its type writes, and no others.
func typedStatus(t *testing.T, u *unstructured.Unstructured) any {
	t.Helper()
	typed, err := scheme.Scheme.New(u.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, typed, true); err != nil {
		t.Fatal(err)
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		t.Fatal(err)
	}
	return object["status"]
}

// newReport returns what Karmada reports of a random object, or, in one of five cases, what it
// does not, but another version might.
func newReport(t *testing.T, random *rand.Rand, interpreter *native.DefaultInterpreter, k aggregateKind) []byte {
	t.Helper()
	member := newAggregateObject(t, random, k)
	generation := 1 + random.Int64N(3)
	member.SetAnnotations(map[string]string{workv1alpha2.ResourceTemplateGenerationAnnotationKey: strconv.FormatInt(generation, 10)})
	switch random.IntN(150) {
	case 0:
		return []byte(pick(random, `[]`, `3`, `{`, `{"replicas":"x","phase":3,"loadBalancer":3,"active":{},"expectedPods":"x","currentReplicas":[],"numberReady":true}`))
	case 1, 2, 3, 4, 5, 6, 7:
		return nil
	}
	if random.IntN(5) > 0 {
		return reflectStatus(t, interpreter, member)
	}
	status := member.Object["status"].(map[string]any)
	status["generation"], status["resourceTemplateGeneration"] = member.GetGeneration(), generation
	encoded, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// reflectStatus returns what Karmada reports of an object; nil if nothing.
func reflectStatus(t *testing.T, interpreter *native.DefaultInterpreter, u *unstructured.Unstructured) []byte {
	t.Helper()
	raw, err := interpreter.ReflectStatus(u)
	if err != nil {
		t.Fatal(err)
	}
	if raw == nil {
		return nil
	}
	return raw.Raw
}
