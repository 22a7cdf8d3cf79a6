package aggregate

import (
	"fmt"
	"testing"
)

// deployed returns what a member reports of a Deployment that has observed generation 2 of its
// source.
func deployed(replicas, updated, ready, available, unavailable int) string {
	return fmt.Sprintf(`{"replicas":%d,"updatedReplicas":%d,"readyReplicas":%d,"availableReplicas":%d,"unavailableReplicas":%d,"generation":5,"observedGeneration":5,"resourceTemplateGeneration":2}`,
		replicas, updated, ready, available, unavailable)
}

// The conditions of a Deployment that is complete, and of one that is not.
const (
	isAvailable  = `{"type":"Available","status":"True","reason":"MinimumReplicasAvailable","message":"All replicas are available in all clusters","lastUpdateTime":"` + nowText + `","lastTransitionTime":"` + nowText + `"}`
	notAvailable = `{"type":"Available","status":"False","reason":"MinimumReplicasUnavailable","message":"Replicas are missing in some clusters","lastUpdateTime":"` + nowText + `","lastTransitionTime":"` + nowText + `"}`
	isComplete   = `{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable","message":"All clusters have rolled out","lastUpdateTime":"` + nowText + `","lastTransitionTime":"` + nowText + `"}`
)

func progressing(message string) string {
	return fmt.Sprintf(`{"type":"Progressing","status":"True","reason":"ReplicaSetUpdated","message":%q,"lastUpdateTime":"%s","lastTransitionTime":"%s"}`, message, nowText, nowText)
}

func unhealthy(m Member) Member {
	m.Unhealthy = true
	return m
}

func scaled(m Member) Member {
	m.ChoosesReplicas = true
	return m
}

func TestStatusOfDeployment(t *testing.T) {
	const complete = `"replicas":3,"updatedReplicas":3,"readyReplicas":3,"availableReplicas":3`
	full := deployed(3, 3, 3, 3, 0)
	waitingFor := func(clusters string) string {
		return complete + `,"conditions":[` + isAvailable + `,` + progressing(clusters) + `]`
	}
	testStatus(t, "apps/v1", "Deployment", map[string]statusCase{
		"Complete":     {"All replicas are new and available.", `{"spec":{"replicas":3}}`, []Member{settled("m1", full)}, `{` + complete + `,"observedGeneration":2,"conditions":[` + isAvailable + `,` + isComplete + `]}`, ""},
		"Divided":      {"The sum is what is wanted.", `{"spec":{"replicas":5}}`, []Member{settled("m1", full), settled("m2", deployed(2, 2, 2, 2, 0))}, `{"replicas":5,"updatedReplicas":5,"readyReplicas":5,"availableReplicas":5,"observedGeneration":2,"conditions":[` + isAvailable + `,` + isComplete + `]}`, ""},
		"Whole":        {"Each member has all replicas.", `{"spec":{"replicas":3}}`, []Member{settled("m1", full), settled("m2", full)}, `{"replicas":6,"updatedReplicas":6,"readyReplicas":6,"availableReplicas":6,"observedGeneration":2,"conditions":[` + isAvailable + `,` + isComplete + `]}`, ""},
		"ShareOfZero":  {"A member may be meant to have none.", `{"spec":{"replicas":3}}`, []Member{settled("m1", full), settled("m2", deployed(0, 0, 0, 0, 0))}, `{` + complete + `,"observedGeneration":2,"conditions":[` + isAvailable + `,` + isComplete + `]}`, ""},
		"ScaledToZero": {"So may all.", `{"spec":{"replicas":0}}`, []Member{settled("m1", deployed(0, 0, 0, 0, 0))}, `{"observedGeneration":2,"conditions":[` + isAvailable + `,` + isComplete + `]}`, ""},
		"TooFew":       {"The members are complete, but an override policy gives them fewer replicas than the source wants.", `{"spec":{"replicas":4}}`, []Member{settled("m1", full)}, `{` + complete + `,"observedGeneration":2,"conditions":[` + notAvailable + `,` + progressing("The clusters have fewer replicas than 4") + `]}`, ""},
		"Chosen":       {"An autoscaler has left one of three.", `{"spec":{"replicas":3}}`, []Member{scaled(settled("m1", deployed(1, 1, 1, 1, 0)))}, `{"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"observedGeneration":2,"conditions":[` + isAvailable + `,` + isComplete + `]}`, ""},
		"ChosenNone":   {"KEDA has left none.", `{}`, []Member{scaled(settled("m1", deployed(0, 0, 0, 0, 0)))}, `{"observedGeneration":2,"conditions":[` + isAvailable + `,` + isComplete + `]}`, ""},
		"ChosenMore":   {"It has asked for another.", `{"spec":{"replicas":1}}`, []Member{scaled(settled("m1", deployed(1, 1, 1, 1, 1)))}, `{"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"unavailableReplicas":1,"conditions":[` + notAvailable + `,` + progressing("Waiting for 1 of 1 clusters: m1") + `]}`, ""},
		"Default":      {"Without a number, one is wanted.", `{}`, []Member{settled("m1", deployed(0, 0, 0, 0, 0))}, `{"observedGeneration":2,"conditions":[` + notAvailable + `,` + progressing("The clusters have fewer replicas than 1") + `]}`, ""},
		"NoMember":     {"Nothing runs anywhere.", `{"spec":{"replicas":3},"status":{"replicas":3,"observedGeneration":2}}`, nil, `{"observedGeneration":2,"conditions":[` + notAvailable + `,` + progressing("No cluster to roll out to") + `]}`, ""},
		"NotStarted":   {"A new member has observed its Deployment, but has no Pod: with its observation, Argo CD would compare the other member's replicas alone, and call it healthy.", `{"spec":{"replicas":3}}`, []Member{settled("m1", full), settled("m2", deployed(0, 0, 0, 0, 3))}, `{` + complete + `,"unavailableReplicas":3,"conditions":[` + notAvailable + `,` + progressing("Waiting for 1 of 2 clusters: m2") + `]}`, ""},
		"Quota":        {"A quota lets a member have two of three Pods: Argo CD would call this healthy too, since the sum has enough.", `{"spec":{"replicas":3}}`, []Member{settled("m1", full), settled("m2", deployed(2, 2, 2, 2, 1))}, `{"replicas":5,"updatedReplicas":5,"readyReplicas":5,"availableReplicas":5,"unavailableReplicas":1,"conditions":[` + notAvailable + `,` + progressing("Waiting for 1 of 2 clusters: m2") + `]}`, ""},
		"Updating":     {"Old Pods serve until the new ones do.", `{"spec":{"replicas":3}}`, []Member{settled("m1", deployed(4, 1, 3, 3, 1))}, `{"replicas":4,"updatedReplicas":1,"readyReplicas":3,"availableReplicas":3,"unavailableReplicas":1,"observedGeneration":2,"conditions":[` + notAvailable + `,` + progressing("Waiting for 1 of 1 clusters: m1") + `]}`, ""},
		"OldPods":      {"An old Pod is to be terminated.", `{"spec":{"replicas":3}}`, []Member{settled("m1", deployed(4, 3, 4, 4, 0))}, `{"replicas":4,"updatedReplicas":3,"readyReplicas":4,"availableReplicas":4,"observedGeneration":2,"conditions":[` + isAvailable + `,` + progressing("Waiting for 1 of 1 clusters: m1") + `]}`, ""},
		"NotAvailable": {"A new Pod is ready, but not for minReadySeconds.", `{"spec":{"replicas":3}}`, []Member{settled("m1", deployed(3, 3, 3, 2, 1))}, `{"replicas":3,"updatedReplicas":3,"readyReplicas":3,"availableReplicas":2,"unavailableReplicas":1,"observedGeneration":2,"conditions":[` + notAvailable + `,` + progressing("Waiting for 1 of 1 clusters: m1") + `]}`, ""},
		"Unsettled":    {"What the member has may be something else.", `{"spec":{"replicas":3}}`, []Member{unsettled(settled("m1", full))}, `{` + waitingFor("Waiting for 1 of 1 clusters: m1") + `}`, ""},
		"OldContent":   {"The Work is said to be applied, but the member's object predates it.", `{"spec":{"replicas":3}}`, []Member{{Cluster: "m1", Status: []byte(full), Generation: 3, Settled: true}}, `{` + waitingFor("Waiting for 1 of 1 clusters: m1") + `}`, ""},
		"Unreported":   {"A new member has reported nothing.", `{"spec":{"replicas":3},"status":{"observedGeneration":2}}`, []Member{settled("m1", full), settled("m2", "")}, `{` + complete + `,"observedGeneration":2,"conditions":[` + notAvailable + `,` + progressing("Waiting for 1 of 2 clusters: m2") + `]}`, ""},
		"Many":         {"The message stays short.", `{"spec":{"replicas":0}}`, []Member{settled("m1", ""), settled("m2", ""), settled("m3", ""), settled("m4", ""), settled("m5", ""), settled("m6", ""), settled("m7", "")}, `{"conditions":[` + notAvailable + `,` + progressing("Waiting for 7 of 7 clusters: m1, m2, m3, m4, m5 and 2 others") + `]}`, ""},
		"BadReplicas":  {"No API server has such a Deployment.", `{"spec":{"replicas":"3"}}`, nil, ``, "spec.replicas"},
		"BadSpec":      {"Nor such a spec.", `{"spec":[]}`, nil, ``, "spec"},
		"BadStatus":    {"Nor such conditions.", `{"status":{"conditions":{}}}`, nil, ``, "conditions"},
		"BadCondition": {"Nor such a condition.", `{"status":{"conditions":["Available"]}}`, nil, ``, "conditions"},
		"BadMember":    {"A member may report anything.", `{}`, []Member{settled("m1", full), settled("m2", `{"replicas":true}`)}, ``, `"m2"`},
		"BadObserved":  {"Even this.", `{}`, []Member{settled("m2", `{"generation":true}`)}, ``, `"m2"`},
		"Negative":     {"An API server would refuse the sum.", `{}`, []Member{settled("m2", `{"unavailableReplicas":-1}`)}, ``, `"m2"`},
	})
}

func TestConditionsOfDeployment(t *testing.T) {
	const complete = `"replicas":3,"updatedReplicas":3,"readyReplicas":3,"availableReplicas":3,"observedGeneration":2`
	source := func(conditions string) string {
		return `{"spec":{"replicas":3},"status":{` + complete + `,"conditions":[` + conditions + `]}}`
	}
	want := func(conditions string) string { return `{` + complete + `,"conditions":[` + conditions + `]}` }
	const (
		since      = `{"type":"Available","status":"True","reason":"MinimumReplicasAvailable","message":"All replicas are available in all clusters","lastUpdateTime":"` + before + `","lastTransitionTime":"` + before + `"}`
		was        = `{"type":"Progressing","status":"True","reason":"ReplicaSetUpdated","message":"Waiting for 1 of 1 clusters: m1","lastUpdateTime":"` + before + `","lastTransitionTime":"` + before + `"}`
		became     = `{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable","message":"All clusters have rolled out","lastUpdateTime":"` + nowText + `","lastTransitionTime":"` + before + `"}`
		wasMissing = `{"type":"Available","status":"False","reason":"MinimumReplicasUnavailable","message":"x","lastUpdateTime":"` + before + `","lastTransitionTime":"` + before + `"}`
		foreign    = `{"type":"example.com/Scanned","status":"True","probe":1}`
		failed     = `{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded"}`
	)
	members := []Member{settled("m1", deployed(3, 3, 3, 3, 0))}
	testStatus(t, "apps/v1", "Deployment", map[string]statusCase{
		"Kept":      {"What is as it should be keeps its times.", source(since), members, want(since + `,` + isComplete), ""},
		"Reason":    {"Another reason is an update, but no transition.", source(since + `,` + was), members, want(since + `,` + became), ""},
		"Status":    {"Another status is a transition.", source(wasMissing), members, want(isAvailable + `,` + isComplete), ""},
		"Foreign":   {"Another writer's condition stays where it is.", source(foreign + `,` + since), members, want(foreign + `,` + since + `,` + isComplete), ""},
		"Twice":     {"Of two conditions of a type, Argo CD reads the first, and kstatus all.", source(since + `,` + was + `,` + failed), members, want(since + `,` + became), ""},
		"Incorrect": {"A time that is not a text is replaced.", source(`{"type":"Available","status":"True","lastTransitionTime":3}`), members, want(isAvailable + `,` + isComplete), ""},
	})
}
