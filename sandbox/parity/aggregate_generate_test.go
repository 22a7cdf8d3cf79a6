package parity

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/resourceinterpreter/default/native"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karmada-target/karmada-mirror/render/aggregate"
)

// aggregateKind is a kind with a rule.
type aggregateKind struct {
	apiVersion, kind string
	// sums are the fields that Karmada sets.
	sums []string
	// status makes a random one, for sources as well as for members.
	status func(*rand.Rand) any
}

var aggregateKinds = []aggregateKind{
	{"apps/v1", "Deployment", []string{"observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"}, newDeploymentStatus},
	{"apps/v1", "StatefulSet", []string{"observedGeneration", "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"}, newCounts[appsv1.StatefulSetStatus]},
	{"apps/v1", "DaemonSet", []string{"observedGeneration", "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable", "numberUnavailable"}, newCounts[appsv1.DaemonSetStatus]},
	{"apps/v1", "ReplicaSet", []string{"observedGeneration", "replicas", "readyReplicas", "availableReplicas"}, newCounts[appsv1.ReplicaSetStatus]},
	{"batch/v1", "Job", []string{"active", "succeeded", "failed", "startTime", "completionTime"}, newJobStatus},
	{"batch/v1", "CronJob", []string{"active", "lastScheduleTime", "lastSuccessfulTime"}, newCronJobStatus},
	{"v1", "Service", []string{"loadBalancer"}, newServiceStatus},
	{"v1", "Pod", []string{"phase", "containerStatuses", "initContainerStatuses"}, newPodStatus},
	{"v1", "PersistentVolumeClaim", []string{"phase"}, newClaimStatus},
	{"networking.k8s.io/v1", "Ingress", []string{"loadBalancer"}, newIngressStatus},
	{"policy/v1", "PodDisruptionBudget", []string{"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods", "disruptedPods"}, newBudgetStatus},
	{"autoscaling/v2", "HorizontalPodAutoscaler", []string{"currentReplicas", "desiredReplicas"}, newCounts[autoscalingv2.HorizontalPodAutoscalerStatus]},
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
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(k.status(random))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	u.SetAPIVersion(k.apiVersion)
	u.SetKind(k.kind)
	u.SetName("web")
	u.SetNamespace("shop")
	u.SetGeneration(1 + random.Int64N(3))
	switch k.kind {
	case "Service":
		u.Object["spec"] = map[string]any{"type": pick(random, "LoadBalancer", "LoadBalancer", "LoadBalancer", "ClusterIP")}
	case "Deployment":
		u.Object["spec"] = map[string]any{"replicas": random.Int64N(7)}
	}
	return u
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
		raw, err := interpreter.ReflectStatus(member)
		if err != nil {
			t.Fatal(err)
		}
		if raw == nil {
			return nil
		}
		return raw.Raw
	}
	status := member.Object["status"].(map[string]any)
	status["generation"], status["resourceTemplateGeneration"] = member.GetGeneration(), generation
	encoded, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// number makes a count. Few are so large that sums overflow, and fewer negative.
func number(random *rand.Rand) int32 {
	switch random.IntN(400) {
	case 0, 1:
		return math.MaxInt32 - random.Int32N(2)
	case 2:
		return -1
	}
	return random.Int32N(4)
}

// newCounts makes a status of which only the counts and the observed generation are set.
func newCounts[T any](random *rand.Rand) any { return countsOf[T](random) }

func countsOf[T any](random *rand.Rand) *T {
	status := new(T)
	for field, value := range reflect.ValueOf(status).Elem().Fields() {
		switch field.Type.Kind() {
		case reflect.Int32:
			value.SetInt(int64(number(random)))
		case reflect.Int64:
			value.SetInt(random.Int64N(4))
		}
	}
	return status
}

func newDeploymentStatus(random *rand.Rand) any {
	status := countsOf[appsv1.DeploymentStatus](random)
	for _, kind := range []appsv1.DeploymentConditionType{"Available", "ReplicaFailure", "Progressing"} {
		if random.IntN(3) == 0 {
			status.Conditions = append(status.Conditions, appsv1.DeploymentCondition{Type: kind, Status: pick[corev1.ConditionStatus](random, "True", "False"), LastUpdateTime: someTime(random)})
		}
	}
	return status
}

func newJobStatus(random *rand.Rand) any {
	status := &batchv1.JobStatus{Succeeded: number(random), Failed: number(random), CompletedIndexes: pick(random, "", "", "0-1")}
	if random.IntN(3) == 0 {
		status.Active = number(random)
	}
	if random.IntN(5) > 0 {
		start := someTime(random)
		status.StartTime = &start
	}
	end := metav1.NewTime(time.Date(2026, 11, 24, random.IntN(24), 0, 0, 0, time.UTC))
	var kinds []batchv1.JobConditionType
	switch random.IntN(8) {
	case 0, 1, 2, 3:
		status.CompletionTime = &end
		kinds = pick(random, []batchv1.JobConditionType{"SuccessCriteriaMet", "Complete"}, []batchv1.JobConditionType{"Complete"})
	case 4:
		kinds = []batchv1.JobConditionType{"FailureTarget", "Failed"}
	case 5:
		kinds = []batchv1.JobConditionType{pick[batchv1.JobConditionType](random, "Suspended", "Complete", "FailureTarget")}
	case 6:
		status.CompletionTime = &end
	}
	for _, kind := range kinds {
		status.Conditions = append(status.Conditions, batchv1.JobCondition{Type: kind, Status: pick[corev1.ConditionStatus](random, "True", "True", "True", "False"), LastProbeTime: someTime(random)})
	}
	return status
}

func newCronJobStatus(random *rand.Rand) any {
	status := &batchv1.CronJobStatus{}
	for range random.IntN(3) {
		status.Active = append(status.Active, corev1.ObjectReference{Kind: "Job", Name: fmt.Sprint("job-", random.IntN(5))})
	}
	for _, field := range []**metav1.Time{&status.LastScheduleTime, &status.LastSuccessfulTime} {
		if random.IntN(3) > 0 {
			at := someTime(random)
			*field = &at
		}
	}
	return status
}

func newServiceStatus(random *rand.Rand) any {
	status := &corev1.ServiceStatus{}
	for range random.IntN(3) {
		address := corev1.LoadBalancerIngress{Hostname: pick(random, "", "", "a.example", "b.example"), IP: pick(random, "", "10.0.0.1", "10.0.0.2")}
		if random.IntN(2) == 0 {
			mode := pick(random, corev1.LoadBalancerIPModeVIP, corev1.LoadBalancerIPModeProxy)
			address.IPMode = &mode
		}
		for range random.IntN(3) {
			address.Ports = append(address.Ports, newPortStatus(random))
		}
		status.LoadBalancer.Ingress = append(status.LoadBalancer.Ingress, address)
	}
	if random.IntN(4) == 0 {
		status.Conditions = []metav1.Condition{{Type: "LoadBalancerPortsError", Status: "True", LastTransitionTime: someTime(random)}}
	}
	return status
}

func newPortStatus(random *rand.Rand) corev1.PortStatus {
	port := corev1.PortStatus{Port: 80 + random.Int32N(2), Protocol: pick(random, corev1.ProtocolTCP, corev1.ProtocolUDP)}
	if random.IntN(3) == 0 {
		message := pick(random, "InUse", "Denied")
		port.Error = &message
	}
	return port
}

func newIngressStatus(random *rand.Rand) any {
	status := &networkingv1.IngressStatus{}
	for _, a := range newServiceStatus(random).(*corev1.ServiceStatus).LoadBalancer.Ingress {
		address := networkingv1.IngressLoadBalancerIngress{Hostname: a.Hostname, IP: a.IP}
		for _, port := range a.Ports {
			address.Ports = append(address.Ports, networkingv1.IngressPortStatus(port))
		}
		status.LoadBalancer.Ingress = append(status.LoadBalancer.Ingress, address)
	}
	return status
}

func newPodStatus(random *rand.Rand) any {
	status := &corev1.PodStatus{
		Phase:    pick[corev1.PodPhase](random, "Pending", "Running", "Running", "Running", "Succeeded", "Succeeded", "Failed", "Unknown", ""),
		QOSClass: pick[corev1.PodQOSClass](random, "", "BestEffort"), PodIP: pick(random, "", "10.1.0.1"),
	}
	for range random.IntN(3) {
		container := corev1.ContainerStatus{Name: "c", Image: "i", Ready: random.IntN(2) == 0, RestartCount: 3}
		if random.IntN(2) == 0 {
			container.State.Running = &corev1.ContainerStateRunning{StartedAt: someTime(random)}
		}
		status.ContainerStatuses = append(status.ContainerStatuses, container)
		if random.IntN(3) == 0 {
			status.InitContainerStatuses = append(status.InitContainerStatuses, container)
		}
	}
	return status
}

func newClaimStatus(random *rand.Rand) any {
	status := &corev1.PersistentVolumeClaimStatus{Phase: pick[corev1.PersistentVolumeClaimPhase](random, "Bound", "Bound", "Bound", "Pending", "Lost", "New")}
	if random.IntN(2) == 0 {
		status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	}
	return status
}

func newBudgetStatus(random *rand.Rand) any {
	status := countsOf[policyv1.PodDisruptionBudgetStatus](random)
	for i := range random.IntN(3) {
		if status.DisruptedPods == nil {
			status.DisruptedPods = map[string]metav1.Time{}
		}
		status.DisruptedPods[fmt.Sprint("web-", i)] = someTime(random)
	}
	return status
}

func someTime(random *rand.Rand) metav1.Time {
	return metav1.NewTime(time.Date(2026, 11, 23, random.IntN(24), random.IntN(60), 0, 0, time.UTC))
}
