package aggregate

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// now is the time of the tests, and before is that of what they find.
var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.FixedZone("", 3600))

const (
	nowText = "2026-11-25T11:00:00Z"
	before  = "2026-11-24T09:00:00Z"
)

// statusCase is a source, what its members report, and what follows.
type statusCase struct {
	reason string
	// source lacks apiVersion, kind and metadata.generation, which is 2.
	source  string
	members []Member
	want    string
	// fails is a part of the message that a user needs; no message is matched otherwise.
	fails string
}

// settled is a member with the Work that it should have, made from generation 2.
func settled(cluster, status string) Member {
	return Member{Cluster: cluster, Status: []byte(status), Generation: 2, Settled: true, Later: true}
}

func unsettled(m Member) Member {
	m.Settled = false
	return m
}

func testStatus(t *testing.T, apiVersion, kind string, cases map[string]statusCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			source := newSource(t, apiVersion, kind, tc.source)
			untouched := source.DeepCopy()
			got, err := Status(source, tc.members, now)
			if (err != nil) != (tc.fails != "") {
				t.Fatalf("%s\nStatus: %v", tc.reason, err)
			}
			if diff := cmp.Diff(untouched.Object, source.Object); diff != "" {
				t.Errorf("the source is changed: -before +after:\n%s", diff)
			}
			if err != nil {
				checkMessage(t, err, tc.fails)
				return
			}
			if diff := cmp.Diff(decode(t, tc.want), got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			checkFixed(t, source, tc.members, got)
		})
	}
}

func checkMessage(t *testing.T, err error, part string) {
	t.Helper()
	message := err.Error()
	if !strings.HasPrefix(message, "cannot ") || !strings.Contains(message, part) || strings.Contains(message, "\n") || len(message) > 400 {
		t.Errorf("the message should be short, on one line, and say what %q cannot do: %s", part, message)
	}
}

// checkFixed checks that the result needs no further write, whenever.
func checkFixed(t *testing.T, source *unstructured.Unstructured, members []Member, status map[string]any) {
	t.Helper()
	next := source.DeepCopy()
	next.Object["status"] = status
	again, err := Status(next, members, now.Add(time.Hour))
	if err != nil {
		t.Fatalf("the result is refused as the current status: %v", err)
	}
	if diff := cmp.Diff(status, again); diff != "" {
		t.Errorf("another status follows from the result: -first +second:\n%s", diff)
	}
}

func newSource(t *testing.T, apiVersion, kind, rest string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: decode(t, rest)}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace("shop")
	u.SetName("web")
	u.SetGeneration(2)
	return u
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	decoded := map[string]any{}
	if err := utiljson.Unmarshal([]byte(text), &decoded); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return decoded
}

func TestHasRule(t *testing.T) {
	cases := map[string]struct {
		reason string
		kind   schema.GroupKind
		want   bool
	}{
		"Deployment": {"It has a rule.", schema.GroupKind{Group: "apps", Kind: "Deployment"}, true},
		"Pod":        {"So has a kind of the core group.", schema.GroupKind{Kind: "Pod"}, true},
		"ConfigMap":  {"It has no status.", schema.GroupKind{Kind: "ConfigMap"}, false},
		"Foreign":    {"A custom resource may have the name of a built-in kind.", schema.GroupKind{Group: "batch.volcano.sh", Kind: "Job"}, false},
		"Volume":     {"PersistentVolumes have no Namespace, and each cluster has its own.", schema.GroupKind{Kind: "PersistentVolume"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := rules[tc.kind] != nil; got != tc.want {
				t.Errorf("%s it has a rule: %v", tc.reason, got)
			}
		})
	}
}

func TestIsUpToDate(t *testing.T) {
	cases := map[string]struct {
		reason string
		member Member
		want   bool
	}{
		"New":         {"The member's object is made of the Work's generation, and its controller has seen it.", settled("m1", `{"generation":7,"observedGeneration":7,"resourceTemplateGeneration":2}`), true},
		"Old":         {"Karmada has not collected again since it applied the Work.", settled("m1", `{"generation":6,"observedGeneration":6,"resourceTemplateGeneration":1}`), false},
		"NotObserved": {"The member's controller has not seen the object.", settled("m1", `{"generation":7,"observedGeneration":6,"resourceTemplateGeneration":2}`), false},
		"Omitted":     {"A StatefulSet does not say what its controller has seen.", settled("m1", `{"generation":7,"resourceTemplateGeneration":2}`), true},
		"Unsettled":   {"The Work is not as it should be.", unsettled(settled("m1", `{"generation":7,"observedGeneration":7,"resourceTemplateGeneration":2}`)), false},
		"Silent":      {"A ConfigMap has no status.", settled("m1", ``), true},
		"SilentOld":   {"Its Work tells nevertheless.", unsettled(settled("m1", ``)), false},
		"Job":         {"A Job does not say of what generation it is.", settled("m1", `{"succeeded":1}`), true},
		"Foreign":     {"Another kind may have a text of that name.", settled("m1", `{"observedGeneration":"7","resourceTemplateGeneration":1}`), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.member.IsUpToDate(); got != tc.want {
				t.Errorf("%s IsUpToDate is %v", tc.reason, got)
			}
		})
	}
}

func TestStatusWithoutRule(t *testing.T) {
	testStatus(t, "example.com/v1", "Gadget", map[string]statusCase{
		"Flood":          {reason: "what is copied is bounded, too", source: `{}`, members: []Member{settled("m1", `{"log":"`+strings.Repeat("x", 300_000)+`"}`)}, fails: "m1"},
		"One":            {"The only member's status is that of the source.", `{"status":{"a":1}}`, []Member{settled("m1", `{"b":[1,2.5,null,{"c":"d"}]}`)}, `{"b":[1,2.5,null,{"c":"d"}]}`, ""},
		"OneFirst":       {"The source may have none yet.", `{}`, []Member{settled("m1", `{"b":true}`)}, `{"b":true}`, ""},
		"Observed":       {"The member has the content: what it has observed is that of the source.", `{"status":{"observedGeneration":1}}`, []Member{settled("m1", `{"observedGeneration":7,"conditions":[{"type":"Ready","observedGeneration":7},{"type":"Old","observedGeneration":6}]}`)}, `{"observedGeneration":2,"conditions":[{"type":"Ready","observedGeneration":2},{"type":"Old","observedGeneration":1}]}`, ""},
		"NotYet":         {"It has not: the number is not equal by chance.", `{"status":{"observedGeneration":1}}`, []Member{unsettled(settled("m1", `{"observedGeneration":2,"conditions":[{"type":"Ready","observedGeneration":2}]}`))}, `{"observedGeneration":1,"conditions":[{"type":"Ready","observedGeneration":1}]}`, ""},
		"Copied":         {"An earlier daemon has copied the member's number.", `{"status":{"observedGeneration":7}}`, []Member{unsettled(settled("m1", `{"observedGeneration":7}`))}, `{"observedGeneration":1}`, ""},
		"NeverYet":       {"Nor the first time.", `{}`, []Member{unsettled(settled("m1", `{"observedGeneration":2}`))}, `{"observedGeneration":1}`, ""},
		"Interpreted":    {"An interpreter of Karmada's says what the member's controller has seen.", `{"status":{"observedGeneration":1}}`, []Member{settled("m1", `{"observedGeneration":6,"generation":7,"resourceTemplateGeneration":2}`)}, `{"observedGeneration":1}`, ""},
		"SeenByIt":       {"It has seen it.", `{}`, []Member{settled("m1", `{"observedGeneration":7,"generation":7,"resourceTemplateGeneration":2,"a":1}`)}, `{"observedGeneration":2,"a":1}`, ""},
		"Text":           {"Argo Rollouts has it as a text, which Argo CD compares with the generation.", `{}`, []Member{settled("m1", `{"observedGeneration":"7"}`)}, `{"observedGeneration":"2"}`, ""},
		"OddText":        {"A kind may have another text of that name.", `{}`, []Member{settled("m1", `{"observedGeneration":"7th"}`)}, `{"observedGeneration":"7th"}`, ""},
		"Parents":        {"Routes of the Gateway API have it deeper.", `{}`, []Member{settled("m1", `{"parents":[{"conditions":[{"type":"Accepted","observedGeneration":7}]}]}`)}, `{"parents":[{"conditions":[{"type":"Accepted","observedGeneration":2}]}]}`, ""},
		"ParentsEarly":   {"The member does not have the content.", `{}`, []Member{unsettled(settled("m1", `{"parents":[{"conditions":[{"type":"Accepted","observedGeneration":2}]}]}`))}, `{"parents":[{"conditions":[{"type":"Accepted","observedGeneration":1}]}]}`, ""},
		"OfAnother":      {"A greater generation is that of something else.", `{}`, []Member{settled("m1", `{"observedGeneration":3,"conditions":[{"type":"A","observedGeneration":3}],"backend":{"observedGeneration":40},"parts":[{"conditions":[{"type":"A","observedGeneration":50}]}]}`)}, `{"observedGeneration":2,"conditions":[{"type":"A","observedGeneration":2}],"backend":{"observedGeneration":40},"parts":[{"conditions":[{"type":"A","observedGeneration":50}]}]}`, ""},
		"OneName":        {"Two conditions may have one type.", `{}`, []Member{unsettled(settled("m1", `{"conditions":[{"type":"A","observedGeneration":9},{"type":"A","observedGeneration":9}]}`))}, `{"conditions":[{"type":"A","observedGeneration":1},{"type":"A","observedGeneration":1}]}`, ""},
		"NothingYet":     {"Flux begins with -1, which is no generation.", `{"status":{"observedGeneration":-1}}`, []Member{settled("m1", `{"observedGeneration":-1}`)}, `{"observedGeneration":-1}`, ""},
		"Earlier":        {"The report may be from before.", `{"status":{"observedGeneration":1}}`, []Member{{Cluster: "m1", Status: []byte(`{"observedGeneration":7}`), Settled: true}}, `{"observedGeneration":1}`, ""},
		"Relabelled":     {"What the source has shown stays.", `{"status":{"observedGeneration":2,"conditions":[{"type":"A","observedGeneration":1},{"type":"Ready","observedGeneration":2}]}}`, []Member{unsettled(settled("m1", `{"observedGeneration":7,"conditions":[{"type":"Ready","observedGeneration":7}]}`))}, `{"observedGeneration":2,"conditions":[{"type":"Ready","observedGeneration":2}]}`, ""},
		"Lacking":        {"The member has refused it.", `{"status":{"observedGeneration":2}}`, []Member{{Cluster: "m1", Status: []byte(`{"observedGeneration":7}`), Lacking: true}}, `{"observedGeneration":1}`, ""},
		"OnlyConditions": {"An interpreter reports generations, and the kind observes in its conditions.", `{}`, []Member{settled("m1", `{"generation":7,"resourceTemplateGeneration":2,"conditions":[{"type":"Ready","observedGeneration":7}]}`)}, `{"conditions":[{"type":"Ready","observedGeneration":2}]}`, ""},
		"OddReplicas":    {"Its replicas are a text.", `{}`, []Member{settled("m1", `{"observedGeneration":6,"generation":7,"resourceTemplateGeneration":1,"readyReplicas":"0/1"}`)}, `{"observedGeneration":1,"readyReplicas":"0/1"}`, ""},
		"Several":        {"No rule says how to sum them up: the status stays.", `{"status":{"a":1}}`, []Member{settled("m1", `{"b":1}`), settled("m2", `{"b":2}`)}, `{"a":1}`, ""},
		"None":           {"Without a member, nothing is known.", `{"status":{"a":1}}`, nil, `{"a":1}`, ""},
		"Unreported":     {"Nor before the first report.", `{"status":{"a":1}}`, []Member{settled("m1", "")}, `{"a":1}`, ""},
		"Null":           {"A null is not a report.", `{"status":{"a":1}}`, []Member{settled("m1", " null\n")}, `{"a":1}`, ""},
		"NullStatus":     {"A null is not a status either.", `{"status":null}`, nil, `{}`, ""},
		"NotObject":      {"A status is an object.", `{}`, []Member{settled("m1", `[1]`)}, ``, `"m1"`},
		"BadJSON":        {"A Work may have any bytes.", `{}`, []Member{settled("m1", "{\n")}, ``, `"m1"`},
		"BadSource":      {"A custom resource without a schema may have any status.", `{"status":"fine"}`, []Member{settled("m1", `{"b":1}`)}, ``, "source"},
	})
}

// TestDeepStatus: a member may report a status that is as deep as an API server takes it.
func TestDeepStatus(t *testing.T) {
	const depth = 9900
	m := settled("m1", strings.Repeat(`{"xxxxxxxxxxxxxx":`, depth)+"1"+strings.Repeat("}", depth))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Status(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"generation": int64(2)}}}, []Member{m}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 100<<20 {
		t.Errorf("%d MiB", (after.TotalAlloc-before.TotalAlloc)>>20)
	}
}

func TestStatusOfReplicaSet(t *testing.T) {
	one := `{"replicas":2,"readyReplicas":2,"availableReplicas":1,"generation":7,"observedGeneration":7,"resourceTemplateGeneration":2}`
	testStatus(t, "apps/v1", "ReplicaSet", map[string]statusCase{
		"Sum":         {"Counts are added up.", `{}`, []Member{settled("m2", one), settled("m1", `{"replicas":3,"generation":1,"observedGeneration":1,"resourceTemplateGeneration":2}`)}, `{"replicas":5,"readyReplicas":2,"availableReplicas":1,"observedGeneration":2}`, ""},
		"Fewer":       {"What is zero is omitted as in the API, except for what the API shows.", `{"status":{"replicas":5,"readyReplicas":5,"observedGeneration":2}}`, []Member{settled("m1", `{"resourceTemplateGeneration":2}`)}, `{"replicas":0,"observedGeneration":2}`, ""},
		"Shown":       {"A zero that the API shows in some version is no reason for a write.", `{"status":{"replicas":0,"readyReplicas":0}}`, []Member{settled("m1", "")}, `{"replicas":0,"readyReplicas":0}`, ""},
		"Foreign":     {"What no rule sets stays, as do the conditions of others.", `{"status":{"terminatingReplicas":1,"conditions":[{"type":"ReplicaFailure","status":"True"}]}}`, []Member{settled("m1", one)}, `{"terminatingReplicas":1,"conditions":[{"type":"ReplicaFailure","status":"True"}],"replicas":2,"readyReplicas":2,"availableReplicas":1,"observedGeneration":2}`, ""},
		"Unreported":  {"A member that has reported nothing has observed nothing.", `{"status":{"observedGeneration":1}}`, []Member{settled("m1", one), settled("m2", "")}, `{"replicas":2,"readyReplicas":2,"availableReplicas":1,"observedGeneration":1}`, ""},
		"Unsettled":   {"Nor has one that may have other content.", `{"status":{"observedGeneration":1}}`, []Member{unsettled(settled("m1", one))}, `{"replicas":2,"readyReplicas":2,"availableReplicas":1,"observedGeneration":1}`, ""},
		"OldContent":  {"Nor one whose object is made of an earlier generation, although the Work is said to be applied.", `{"status":{"observedGeneration":1}}`, []Member{settled("m1", `{"replicas":1,"generation":7,"observedGeneration":7,"resourceTemplateGeneration":1}`)}, `{"replicas":1,"observedGeneration":1}`, ""},
		"OldWork":     {"A Work need not be of the last generation, if nothing in it would change.", `{}`, []Member{{"m1", []byte(`{"replicas":1,"generation":7,"observedGeneration":7,"resourceTemplateGeneration":1}`), 1, true, false, false, false, true, false}}, `{"replicas":1,"observedGeneration":2}`, ""},
		"NotObserved": {"The member's controller has not seen its object.", `{"status":{"observedGeneration":1}}`, []Member{settled("m1", `{"replicas":1,"generation":7,"observedGeneration":6,"resourceTemplateGeneration":2}`)}, `{"replicas":1,"observedGeneration":1}`, ""},
		"NoMember":    {"Without a member, nothing is claimed.", `{"status":{"replicas":3,"observedGeneration":1}}`, nil, `{"replicas":0,"observedGeneration":1}`, ""},
		"Saturated":   {"Sums stop at what the API can hold.", `{}`, []Member{settled("m1", `{"replicas":2147483647}`), settled("m2", `{"replicas":5}`)}, `{"replicas":2147483647}`, ""},
		"Negative":    {"An API server would refuse the sum.", `{}`, []Member{settled("m1", `{"replicas":3}`), settled("m2", `{"replicas":-1}`)}, ``, `"m2"`},
		"Huge":        {"A count that is too large is not a count, and its digits are no message.", `{}`, []Member{settled("m2", fmt.Sprintf(`{"replicas":1%s}`, strings.Repeat("0", 10000)))}, ``, `"m2"`},
		"Float":       {"Pods are not divided.", `{}`, []Member{settled("m1", `{"replicas":1.5}`)}, ``, `"m1"`},
		"WrongType":   {"A text is not a count.", `{}`, []Member{settled("m1", `{"replicas":"3"}`)}, ``, `"m1"`},
		"BadObserved": {"A text is not a generation.", `{}`, []Member{settled("m1", `{"resourceTemplateGeneration":"3"}`)}, ``, `"m1"`},
		"Null":        {"A null is a zero.", `{}`, []Member{settled("m1", `{"replicas":null}`)}, `{"replicas":0}`, ""},
		"NotObject":   {"A status is an object.", `{}`, []Member{settled("m1", `3`)}, ``, `"m1"`},
	})
}

func TestStatusOfStatefulSet(t *testing.T) {
	testStatus(t, "apps/v1", "StatefulSet", map[string]statusCase{
		"Sum":         {"Members report no observedGeneration.", `{}`, []Member{settled("m1", `{"replicas":3,"readyReplicas":2,"currentReplicas":1,"updatedReplicas":2,"availableReplicas":2,"generation":9,"resourceTemplateGeneration":2}`)}, `{"replicas":3,"readyReplicas":2,"currentReplicas":1,"updatedReplicas":2,"availableReplicas":2,"observedGeneration":2}`, ""},
		"OldContent":  {"The member's object is made of an earlier generation; its own generation says nothing about that.", `{}`, []Member{settled("m1", `{"replicas":3,"availableReplicas":0,"generation":1,"resourceTemplateGeneration":1}`)}, `{"replicas":3,"availableReplicas":0}`, ""},
		"NotObserved": {"A later Karmada may report observedGeneration: then it counts.", `{}`, []Member{settled("m1", `{"replicas":3,"generation":9,"observedGeneration":8,"resourceTemplateGeneration":2}`)}, `{"replicas":3,"availableReplicas":0}`, ""},
		"Observed":    {"It has observed.", `{}`, []Member{settled("m1", `{"replicas":3,"generation":9,"observedGeneration":9,"resourceTemplateGeneration":2}`)}, `{"replicas":3,"availableReplicas":0,"observedGeneration":2}`, ""},
		"Unseen":      {"Karmada calls it unhealthy, though its Pods are new and ready: its controller has not seen the content.", `{"status":{"observedGeneration":1}}`, []Member{unhealthy(settled("m1", `{"replicas":3,"updatedReplicas":3,"readyReplicas":3,"availableReplicas":3,"generation":9,"resourceTemplateGeneration":2}`))}, `{"replicas":3,"updatedReplicas":3,"readyReplicas":3,"availableReplicas":3,"observedGeneration":1}`, ""},
		"Updating":    {"It has: Pods are replaced.", `{"status":{"observedGeneration":1}}`, []Member{unhealthy(settled("m1", `{"replicas":3,"updatedReplicas":1,"readyReplicas":3,"availableReplicas":3,"generation":9,"resourceTemplateGeneration":2}`))}, `{"replicas":3,"updatedReplicas":1,"readyReplicas":3,"availableReplicas":3,"observedGeneration":2}`, ""},
		"NoPods":      {"Without Pods, nothing is replaced.", `{}`, []Member{unhealthy(settled("m1", `{"generation":9,"resourceTemplateGeneration":2}`))}, `{"replicas":0,"availableReplicas":0,"observedGeneration":2}`, ""},
		"Negative":    {"An API server would refuse the sum.", `{}`, []Member{settled("m1", `{"currentReplicas":-1}`)}, ``, `"m1"`},
	})
}

func TestStatusOfDaemonSet(t *testing.T) {
	one := `{"currentNumberScheduled":1,"desiredNumberScheduled":2,"numberAvailable":3,"numberMisscheduled":4,"numberReady":5,"updatedNumberScheduled":6,"numberUnavailable":7,"generation":2,"observedGeneration":2,"resourceTemplateGeneration":2}`
	testStatus(t, "apps/v1", "DaemonSet", map[string]statusCase{
		"Sum":         {"All counts are added up.", `{}`, []Member{settled("m1", one), settled("m2", one)}, `{"currentNumberScheduled":2,"desiredNumberScheduled":4,"numberAvailable":6,"numberMisscheduled":8,"numberReady":10,"updatedNumberScheduled":12,"numberUnavailable":14,"observedGeneration":2}`, ""},
		"NotObserved": {"A member that reports no observedGeneration has observed nothing.", `{}`, []Member{settled("m1", `{"generation":1,"resourceTemplateGeneration":2}`)}, `{"currentNumberScheduled":0,"desiredNumberScheduled":0,"numberMisscheduled":0,"numberReady":0}`, ""},
		"BadCount":    {"It is not a number.", `{}`, []Member{settled("m1", `{"numberReady":{}}`)}, ``, `"m1"`},
	})
}

func TestStatusOfBudgetsAndAutoscalers(t *testing.T) {
	testStatus(t, "policy/v1", "PodDisruptionBudget", map[string]statusCase{
		"Sum":      {"Pods are named by cluster.", `{"status":{"observedGeneration":1}}`, []Member{settled("m1", `{"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":3,"expectedPods":4,"disruptedPods":{"p":"2026-11-24T10:00:00+01:00"}}`), settled("m2", `{"expectedPods":1}`)}, `{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":3,"expectedPods":5,"disruptedPods":{"m1/p":"` + before + `"}}`, ""},
		"Gone":     {"No Pod is disrupted any more.", `{"status":{"disruptedPods":{"m1/p":"` + before + `"}}}`, []Member{settled("m1", `{}`)}, `{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}`, ""},
		"BadTime":  {"It is not a time.", `{}`, []Member{settled("m1", `{"disruptedPods":{"p":"`+strings.Repeat("y", 9999)+`"}}`)}, ``, `"m1"`},
		"Negative": {"An API server would refuse the sum.", `{}`, []Member{settled("m1", `{"expectedPods":-1}`)}, ``, `"m1"`},
	})
	testStatus(t, "autoscaling/v2", "HorizontalPodAutoscaler", map[string]statusCase{
		"Sum":   {"Metrics cannot be added up, and stay.", `{"status":{"currentMetrics":null}}`, []Member{settled("m1", `{"currentReplicas":1,"desiredReplicas":2}`), settled("m2", `{"currentReplicas":1}`)}, `{"currentMetrics":null,"currentReplicas":2,"desiredReplicas":2}`, ""},
		"Wrong": {"It is not a number.", `{}`, []Member{settled("m1", `{"desiredReplicas":[]}`)}, ``, `"m1"`},
	})
	testStatus(t, "autoscaling/v1", "HorizontalPodAutoscaler", map[string]statusCase{
		"Shown": {"Version 1 shows a zero that version 2 omits.", `{"status":{"currentReplicas":0,"desiredReplicas":0}}`, []Member{settled("m1", `{}`)}, `{"currentReplicas":0,"desiredReplicas":0}`, ""},
	})
}

func TestStatusOfBalancers(t *testing.T) {
	members := []Member{
		settled("m2", `{"loadBalancer":{"ingress":[{"ip":"10.0.0.2"},{"ip":"10.0.0.1","ipMode":"VIP","ports":[{"port":80,"protocol":"TCP"}]}]}}`),
		settled("m1", `{"loadBalancer":{"ingress":[{"hostname":"b.example"},{"ip":"10.0.0.1","ipMode":"VIP","ports":[{"port":80,"protocol":"TCP","error":"x"},{"port":80,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]},{"ip":"10.0.0.1"},{"hostname":"a.example"}]}}`),
		settled("m3", ""),
	}
	many := `{"loadBalancer":{"ingress":[` + strings.Repeat(`{"ip":"192.0.2.1"},`, 20_000) + `{"ip":"192.0.2.2"}]}}`
	testStatus(t, "v1", "Service", map[string]statusCase{
		"Flood":   {reason: "a member does not fill the control plane's etcd", source: `{"spec":{"type":"LoadBalancer"}}`, members: []Member{settled("m1", many)}, fails: "m1"},
		"Merged":  {"Equal addresses become one with all ports; host names come first, and addresses have the mode that the API server would set.", `{"spec":{"type":"LoadBalancer"}}`, members, `{"loadBalancer":{"ingress":[{"hostname":"a.example"},{"hostname":"b.example"},{"ip":"10.0.0.1","ipMode":"VIP","ports":[{"port":53,"protocol":"UDP"},{"port":80,"protocol":"TCP"},{"port":80,"protocol":"TCP","error":"x"}]},{"ip":"10.0.0.2","ipMode":"VIP"}]}}`, ""},
		"Modes":   {"Another mode is another address.", `{"spec":{"type":"LoadBalancer"}}`, []Member{settled("m1", `{"loadBalancer":{"ingress":[{"ip":"10.0.0.1"},{"ip":"10.0.0.1","ipMode":"Proxy"},{"hostname":"a.example","ipMode":"Proxy"},{"hostname":"a.example"}]}}`)}, `{"loadBalancer":{"ingress":[{"hostname":"a.example","ipMode":"Proxy"},{"hostname":"a.example"},{"ip":"10.0.0.1","ipMode":"Proxy"},{"ip":"10.0.0.1","ipMode":"VIP"}]}}`, ""},
		"None":    {"Without an address, an API server shows an empty object.", `{"spec":{"type":"LoadBalancer"},"status":{"conditions":[{"type":"X"}]}}`, nil, `{"loadBalancer":{},"conditions":[{"type":"X"}]}`, ""},
		"Other":   {"Members report nothing of another type.", `{"spec":{"type":"ClusterIP"},"status":{"loadBalancer":{}}}`, members, `{"loadBalancer":{}}`, ""},
		"BadSpec": {"No API server has such a Service.", `{"spec":3}`, members, `{}`, ""},
		"Bad":     {"It is not a list.", `{"spec":{"type":"LoadBalancer"}}`, []Member{settled("m1", `{"loadBalancer":{"ingress":3}}`)}, ``, `"m1"`},
	})
	testStatus(t, "networking.k8s.io/v1", "Ingress", map[string]statusCase{
		"Merged": {"An Ingress has no ipMode: addresses that differ in nothing else are equal.", `{}`, members[:2], `{"loadBalancer":{"ingress":[{"hostname":"a.example"},{"hostname":"b.example"},{"ip":"10.0.0.1","ports":[{"port":53,"protocol":"UDP"},{"port":80,"protocol":"TCP"},{"port":80,"protocol":"TCP","error":"x"}]},{"ip":"10.0.0.2"}]}}`, ""},
		"Bad":    {"It is not a list.", `{}`, []Member{settled("m1", `{"loadBalancer":[]}`)}, ``, `"m1"`},
	})
}

func TestStatusOfPhases(t *testing.T) {
	running := `{"phase":"Running","qosClass":"Burstable","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"c","ready":true,"image":"i","state":{"running":{"startedAt":"` + before + `"}}}]}`
	container := `{"image":"","imageID":"","name":"","ready":true,"restartCount":0,"lastState":{},"state":{"running":{"startedAt":"` + before + `"}}}`
	testStatus(t, "v1", "Pod", map[string]statusCase{
		"Running":    {"What the API server has set at the creation stays.", `{"status":{"phase":"Pending","qosClass":"BestEffort"}}`, []Member{settled("m1", running), settled("m2", `{"phase":"Succeeded"}`)}, `{"phase":"Running","qosClass":"BestEffort","containerStatuses":[` + container + `]}`, ""},
		"Unreported": {"A Pod that no member has reported is pending.", `{}`, []Member{settled("m1", `{"phase":"Running"}`), settled("m2", "")}, `{"phase":"Pending"}`, ""},
		"Failed":     {"One failure decides.", `{}`, []Member{settled("m1", `{"phase":"Pending"}`), settled("m2", `{"phase":"Failed"}`)}, `{"phase":"Failed"}`, ""},
		"Unknown":    {"This phase decides nothing.", `{"status":{"phase":"Running"}}`, []Member{settled("m1", `{"phase":"Unknown"}`)}, `{}`, ""},
		"Init":       {"Init containers are listed too.", `{}`, []Member{settled("m1", strings.Replace(running, "containerStatuses", "initContainerStatuses", 1))}, `{"phase":"Running","initContainerStatuses":[` + container + `]}`, ""},
		"None":       {"Without a member, nothing is known.", `{"status":{"phase":"Running"}}`, nil, `{"phase":"Running"}`, ""},
		"Bad":        {"It is not a phase.", `{}`, []Member{settled("m1", `{"phase":1}`)}, ``, `"m1"`},
	})
	testStatus(t, "v1", "PersistentVolumeClaim", map[string]statusCase{
		"Bound":      {"All are bound.", `{"status":{"phase":"Pending","capacity":{"storage":"1Gi"}}}`, []Member{settled("m1", `{"phase":"Bound"}`), settled("m2", `{"phase":"Bound"}`)}, `{"phase":"Bound","capacity":{"storage":"1Gi"}}`, ""},
		"Pending":    {"One is not.", `{}`, []Member{settled("m1", `{"phase":"Pending"}`), settled("m2", `{"phase":"Bound"}`)}, `{"phase":"Pending"}`, ""},
		"Lost":       {"One loss decides.", `{}`, []Member{settled("m1", `{"phase":"Lost"}`), settled("m2", `{"phase":"Pending"}`)}, `{"phase":"Lost"}`, ""},
		"Unreported": {"A claim that no member has reported is not bound.", `{}`, []Member{settled("m1", `{"phase":"Bound"}`), settled("m2", "")}, `{"phase":"Pending"}`, ""},
		"None":       {"Without a member, nothing is known.", `{"status":{"phase":"Pending"}}`, nil, `{"phase":"Pending"}`, ""},
		"Bad":        {"It is not a quantity.", `{}`, []Member{settled("m1", `{"capacity":{"storage":"much"}}`)}, ``, `"m1"`},
	})
}

func TestStatusOfCronJob(t *testing.T) {
	testStatus(t, "batch/v1", "CronJob", map[string]statusCase{
		"Latest":  {"The latest times count, and the active Jobs are listed.", `{"status":{"lastScheduleTime":"2020-01-01T00:00:00Z"}}`, []Member{settled("m1", `{"lastScheduleTime":"`+before+`","active":[{"name":"a"}]}`), settled("m2", `{"lastScheduleTime":"2026-11-24T08:00:00Z","lastSuccessfulTime":"2026-11-24T08:00:00Z","active":[{"name":"b"}]}`)}, `{"lastScheduleTime":"` + before + `","lastSuccessfulTime":"2026-11-24T08:00:00Z","active":[{"name":"a"},{"name":"b"}]}`, ""},
		"Nothing": {"Nothing is scheduled.", `{"status":{"active":[{"name":"a"}]}}`, []Member{settled("m1", `{"lastScheduleTime":null}`), settled("m2", "")}, `{}`, ""},
		"Zero":    {"The zero time is none.", `{}`, []Member{settled("m1", `{"lastScheduleTime":"0001-01-01T00:00:00Z"}`)}, `{}`, ""},
		"Bad":     {"It is not a time.", `{}`, []Member{settled("m1", `{"lastScheduleTime":"noon"}`)}, ``, `"m1"`},
	})
}

func TestMembersInAnyOrder(t *testing.T) {
	source := newSource(t, "v1", "Pod", `{}`)
	members := []Member{
		settled("m2", `{"phase":"Running","containerStatuses":[{"ready":true}]}`),
		settled("m1", `{"phase":"Running","containerStatuses":[{"ready":false}]}`),
	}
	one, err := Status(source, members, now)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Status(source, []Member{members[1], members[0]}, now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one, other); diff != "" {
		t.Errorf("the order of the members makes another status: -one +other:\n%s", diff)
	}
	if members[0].Cluster != "m2" {
		t.Error("the caller's list is sorted")
	}
}
