package aggregate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// kinds are all that have a rule, and one that has none.
var kinds = []struct {
	apiVersion, kind string
	// typed makes an object as an API server would decode it; nil for a kind without a rule.
	typed func() any
}{
	{"apps/v1", "Deployment", func() any { return new(appsv1.Deployment) }},
	{"apps/v1", "StatefulSet", func() any { return new(appsv1.StatefulSet) }},
	{"apps/v1", "DaemonSet", func() any { return new(appsv1.DaemonSet) }},
	{"apps/v1", "ReplicaSet", func() any { return new(appsv1.ReplicaSet) }},
	{"batch/v1", "Job", func() any { return new(batchv1.Job) }},
	{"batch/v1", "CronJob", func() any { return new(batchv1.CronJob) }},
	{"v1", "Service", func() any { return new(corev1.Service) }},
	{"v1", "Pod", func() any { return new(corev1.Pod) }},
	{"v1", "PersistentVolumeClaim", func() any { return new(corev1.PersistentVolumeClaim) }},
	{"networking.k8s.io/v1", "Ingress", func() any { return new(networkingv1.Ingress) }},
	{"policy/v1", "PodDisruptionBudget", func() any { return new(policyv1.PodDisruptionBudget) }},
	{"autoscaling/v2", "HorizontalPodAutoscaler", func() any { return new(autoscalingv2.HorizontalPodAutoscaler) }},
	{"autoscaling/v1", "HorizontalPodAutoscaler", func() any { return new(autoscalingv1.HorizontalPodAutoscaler) }},
	{"example.com/v1", "Gadget", nil},
}

// TestKinds checks that the tests try all kinds.
func TestKinds(t *testing.T) {
	tried := map[string]bool{}
	for _, k := range kinds {
		if k.typed != nil {
			tried[k.kind] = true
		}
	}
	if len(tried) != len(rules) {
		t.Errorf("%d kinds are tried, and %d have a rule", len(tried), len(rules))
	}
}

// manyStatuses is how many random sources are tried: with the race detector, this takes
// seconds.
const manyStatuses = 2000

// TestFixedPoint checks, for random members and statuses, that no further write follows from the
// status, neither as it is returned nor as an API server would return it.
func TestFixedPoint(t *testing.T) {
	random := rand.New(rand.NewPCG(20, 21))
	failed, stored := 0, 0
	for range manyStatuses {
		k := kinds[random.IntN(len(kinds))]
		source := newSource(t, k.apiVersion, k.kind, fmt.Sprintf(`{"spec":{"replicas":%d,"type":"LoadBalancer"},"status":%s}`, random.IntN(7), randomStatus(random)))
		isStored := false
		if k.typed != nil {
			if asStored := throughServer(t, source, k.typed()); asStored != nil {
				source, isStored = asStored, true
			}
		}
		var members []Member
		for i := range random.IntN(4) {
			members = append(members, Member{fmt.Sprint("m", i), randomStatus(random), 1 + random.Int64N(2), random.IntN(4) > 0, random.IntN(8) == 0, random.IntN(8) == 0, random.IntN(8) == 0, random.IntN(4) > 0, random.IntN(8) == 0})
		}
		status, err := Status(source, members, now)
		if err != nil {
			failed++
			continue
		}
		checkFixed(t, source, members, status)
		if !isStored {
			continue
		}
		next := source.DeepCopy()
		next.Object["status"] = status
		next = throughServer(t, next, k.typed())
		if next == nil {
			continue
		}
		stored++
		again, err := Status(next, members, now)
		if err != nil {
			t.Fatalf("%s: what the API server stored is refused: %v", k.kind, err)
		}
		if diff := cmp.Diff(next.Object["status"], any(again)); diff != "" {
			t.Fatalf("%s: another status follows from what the API server stored: -stored +second:\n%s", k.kind, diff)
		}
	}
	t.Logf("%d of %d are refused, and %d stored", failed, manyStatuses, stored)
	if failed > manyStatuses/3 || stored < manyStatuses/3 {
		t.Errorf("%d of %d are refused, and %d stored: too few say anything", failed, manyStatuses, stored)
	}
}

// throughServer returns an object as an API server would after a write, or nil if that would
// refuse it.
func throughServer(t *testing.T, u *unstructured.Unstructured, typed any) *unstructured.Unstructured {
	t.Helper()
	encoded, err := json.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	if json.Unmarshal(encoded, typed) != nil {
		return nil
	}
	if encoded, err = json.Marshal(typed); err != nil {
		return nil // it has a time that cannot be encoded
	}
	return &unstructured.Unstructured{Object: decode(t, string(encoded))}
}

// numbers are what a count or a generation may be.
var numbers = []string{`0`, `1`, `2`, `3`, `3`, `3`, `2147483647`, `null`}

// randomStatus mixes fields of all kinds. One in thirty has a value of a wrong type.
func randomStatus(random *rand.Rand) []byte {
	switch random.IntN(20) {
	case 0:
		return []byte("null")
	case 1:
		return []byte("{}")
	}
	status := map[string]json.RawMessage{}
	for _, field := range []string{
		"replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "unavailableReplicas", "currentReplicas", "desiredReplicas",
		"currentNumberScheduled", "desiredNumberScheduled", "numberAvailable", "numberMisscheduled", "numberReady", "updatedNumberScheduled", "numberUnavailable",
		"succeeded", "failed", "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods",
		"generation", "observedGeneration", "resourceTemplateGeneration",
	} {
		if random.IntN(3) > 0 {
			status[field] = json.RawMessage(numbers[random.IntN(len(numbers))])
		}
	}
	choices := map[string][]string{
		"phase":             {`"Running"`, `"Pending"`, `"Bound"`, `"Lost"`, `"Failed"`, `"Succeeded"`, `""`, `"New"`},
		"startTime":         {`"2026-11-24T09:00:00Z"`, `"2026-11-24T10:00:00+02:00"`, `"0001-01-01T00:00:00Z"`, `null`},
		"completionTime":    {`"2026-11-24T11:00:00.5Z"`, `"2026-11-24T12:00:00Z"`, `null`},
		"lastScheduleTime":  {`"2026-11-24T11:00:00Z"`, `"2026-11-24T12:00:00Z"`},
		"disruptedPods":     {`{"p":"2026-11-24T11:00:00Z","q":"2026-11-24T12:00:00.9+01:00"}`, `{}`},
		"loadBalancer":      {`{"ingress":[{"ip":"10.0.0.2"},{"ip":"10.0.0.1","ports":[{"port":80,"protocol":"TCP"}]}]}`, `{"ingress":[{"hostname":"a"},{"ip":"10.0.0.1","ipMode":"VIP"}]}`},
		"containerStatuses": {`[{"name":"a","ready":true,"state":{"running":{"startedAt":"2026-11-24T11:00:00Z"}}}]`, `[{"state":{"terminated":{"exitCode":1}}}]`},
		"conditions": {
			`[{"type":"Complete","status":"True"},{"type":"SuccessCriteriaMet","status":"True"}]`, `[{"type":"Failed","status":"True"}]`, `[{"type":"FailureTarget","status":"True"}]`,
			`[{"type":"Available","status":"True"},{"type":"Progressing","status":"True"},{"type":"Progressing","status":"False"}]`, `[{"type":"X","status":"True"}]`,
		},
	}
	for _, field := range slices.Sorted(maps.Keys(choices)) {
		if random.IntN(2) > 0 {
			status[field] = json.RawMessage(choices[field][random.IntN(len(choices[field]))])
		}
	}
	if random.IntN(30) == 0 {
		fields := slices.Sorted(maps.Keys(status))
		if len(fields) > 0 {
			status[fields[random.IntN(len(fields))]] = json.RawMessage([]string{`"x"`, `-1`, `[]`, `{}`, `1.5`, `99999999999`}[random.IntN(6)])
		}
	}
	encoded, err := json.Marshal(status)
	if err != nil {
		panic(err) // the values are valid JSON
	}
	return encoded
}

// FuzzStatus: whatever a source and its members say, nothing panics, and the result needs no
// further write.
func FuzzStatus(f *testing.F) {
	random := rand.New(rand.NewPCG(22, 23))
	for i := range kinds {
		f.Add(uint8(i), []byte(`{"replicas":3,"type":"LoadBalancer"}`), randomStatus(random), randomStatus(random), randomStatus(random), int64(2), true)
	}
	f.Add(uint8(len(kinds)-1), []byte("null"), []byte("[]"), []byte(`{"a":1e400}`), []byte(nil), int64(-1), false)
	f.Fuzz(func(t *testing.T, kind uint8, spec, status, one, other []byte, generation int64, isSettled bool) {
		source := &unstructured.Unstructured{Object: map[string]any{}}
		for field, text := range map[string][]byte{"spec": spec, "status": status} {
			var value any
			if utiljson.Unmarshal(text, &value) == nil {
				source.Object[field] = value
			}
		}
		k := kinds[int(kind)%len(kinds)]
		source.SetAPIVersion(k.apiVersion)
		source.SetKind(k.kind)
		source.SetGeneration(generation)
		members := []Member{{"m2", one, generation, true, false, false, false, true, false}, {"m1", other, 1, isSettled, false, false, false, true, false}}
		if k.typed == nil {
			members = members[:1]
		}
		got, err := Status(source, members, now)
		if err != nil {
			checkMessage(t, err, "")
			return
		}
		if _, err := json.Marshal(got); err != nil {
			t.Fatalf("the status cannot be encoded: %v", err)
		}
		checkFixed(t, source, members, got)
	})
}
