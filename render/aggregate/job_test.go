package aggregate

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func idle(m Member) Member {
	m.Idle = true
	return m
}

// The conditions of Jobs, with the time that they have.
func jobConditions(time string, conditions ...string) string {
	var all []string
	for _, c := range conditions {
		kind, rest, _ := strings.Cut(c, " ")
		reason, message, _ := strings.Cut(rest, " ")
		all = append(all, fmt.Sprintf(`{"type":%q,"status":"True","reason":%q,"message":%q,"lastProbeTime":%q,"lastTransitionTime":%q}`, kind, reason, message, time, time))
	}
	return `"conditions":[` + strings.Join(all, ",") + `]`
}

func TestStatusOfJob(t *testing.T) {
	const (
		start   = `"startTime":"2026-11-24T07:00:00Z"`
		later   = `"startTime":"2026-11-24T08:00:00Z"`
		end     = `"completionTime":"2026-11-24T09:00:00Z"`
		done    = `{"succeeded":1,` + start + `,"completionTime":"2026-11-24T08:00:00Z","conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}`
		done2   = `{"succeeded":2,"failed":1,` + later + `,` + end + `,"conditions":[{"type":"Complete","status":"True"}]}`
		failed  = `{"failed":3,` + later + `,"conditions":[{"type":"Failed","status":"True"}]}`
		running = `{"active":2,` + start + `,"conditions":[{"type":"Complete","status":"False"}]}`
	)
	const (
		complete = "Complete Completed Job completed"
		met      = "SuccessCriteriaMet CompletionsReached All member clusters have met success criteria"
		target   = "FailureTarget JobFailed Job executed failed in member clusters m2"
		failure  = "Failed JobFailed Job executed failed in member clusters m2"
	)
	testStatus(t, "batch/v1", "Job", map[string]statusCase{
		"Running":       {"The earliest start counts.", `{}`, []Member{settled("m1", `{"active":1,`+later+`}`), settled("m2", running)}, `{"active":3,` + start + `}`, ""},
		"NotStarted":    {"It has not started everywhere.", `{}`, []Member{settled("m1", running), settled("m2", "")}, `{"active":2}`, ""},
		"Start":         {"The start cannot be changed.", `{"status":{` + later + `}}`, []Member{settled("m1", running)}, `{"active":2,` + later + `}`, ""},
		"Complete":      {"It is complete in all members. Karmada would omit SuccessCriteriaMet, without which an API server refuses Complete.", `{}`, []Member{settled("m1", done), settled("m2", done2)}, `{"succeeded":3,"failed":1,` + start + `,` + end + `,` + jobConditions(nowText, complete, met) + `}`, ""},
		"Idle":          {"The share of the other is 0, so that it does not end.", `{}`, []Member{settled("m1", done), idle(settled("m2", `{`+start+`}`))}, `{"succeeded":1,` + start + `,"completionTime":"2026-11-24T08:00:00Z",` + jobConditions(nowText, complete, met) + `}`, ""},
		"AllIdle":       {"It is paused everywhere.", `{}`, []Member{idle(settled("m1", `{`+start+`}`)), idle(settled("m2", `{`+start+`}`))}, `{` + start + `}`, ""},
		"OneComplete":   {"It is not complete in the other.", `{}`, []Member{settled("m1", done), settled("m2", running)}, `{"active":2,"succeeded":1,` + start + `}`, ""},
		"Unreported":    {"Nor in a member that has reported nothing.", `{}`, []Member{settled("m1", done), settled("m2", "")}, `{"succeeded":1}`, ""},
		"Unsettled":     {"What it reports may be about an earlier Job of that name: nothing of it could be taken back.", `{}`, []Member{unsettled(settled("m1", done))}, `{}`, ""},
		"StillRuns":     {"Pods of a member that does not count may still run: they are not added up, but the Job has not failed before they end.", `{}`, []Member{unsettled(settled("m1", running)), settled("m2", failed)}, `{"failed":3,` + later + `,` + jobConditions(nowText, target) + `}`, ""},
		"HasRun":        {"They have ended.", `{}`, []Member{unsettled(settled("m1", done)), settled("m2", failed)}, `{"failed":3,` + later + `,` + jobConditions(nowText, target, failure) + `}`, ""},
		"NoEnd":         {"An API server refuses Complete without a time.", `{}`, []Member{settled("m1", `{`+start+`,"conditions":[{"type":"Complete","status":"True"}]}`)}, `{` + start + `}`, ""},
		"StillActive":   {"And with active Pods.", `{}`, []Member{settled("m1", strings.Replace(done, `{`, `{"active":1,`, 1))}, `{"active":1,"succeeded":1,` + start + `}`, ""},
		"Failed":        {"It has failed in one member, and ended in the other. Karmada would omit FailureTarget, without which an API server refuses Failed.", `{}`, []Member{settled("m1", done), settled("m2", failed)}, `{"succeeded":1,"failed":3,` + start + `,` + jobConditions(nowText, target, failure) + `}`, ""},
		"Failing":       {"It is still active in the other: an API server would refuse Failed.", `{}`, []Member{settled("m1", running), settled("m2", failed)}, `{"active":2,"failed":3,` + start + `,` + jobConditions(nowText, target) + `}`, ""},
		"HasFailed":     {"Now it is not.", `{"status":{"active":2,"failed":3,` + start + `,` + jobConditions(before, target) + `}}`, []Member{settled("m1", done), settled("m2", failed)}, `{"succeeded":1,"failed":3,` + start + `,` + strings.TrimSuffix(jobConditions(before, target), "]") + `,` + strings.TrimPrefix(jobConditions(nowText, failure), `"conditions":[`) + `}`, ""},
		"StartedByOne":  {"It has failed before it has started in the other: an API server wants a start.", `{}`, []Member{settled("m1", ""), settled("m2", failed)}, `{"failed":3,` + later + `,` + jobConditions(nowText, target, failure) + `}`, ""},
		"NeverStarted":  {"A failure without a start is not final.", `{}`, []Member{settled("m2", `{"conditions":[{"type":"Failed","status":"True"}]}`)}, `{` + jobConditions(nowText, target) + `}`, ""},
		"NoWayBack":     {"FailureTarget cannot be taken back: the Job has failed, although the member in which it did has left.", `{"status":{"failed":3,` + start + `,` + jobConditions(before, target) + `}}`, []Member{settled("m1", done)}, `{"succeeded":1,"failed":3,` + start + `,` + strings.TrimSuffix(jobConditions(before, target), "]") + `,` + strings.TrimPrefix(jobConditions(nowText, failure), `"conditions":[`) + `}`, ""},
		"Counters":      {"An API server does not let them fall.", `{"status":{"active":5,"succeeded":4,"failed":9,` + start + `}}`, []Member{settled("m1", `{"succeeded":1}`)}, `{"succeeded":4,"failed":9,` + start + `}`, ""},
		"NoMember":      {"Nothing runs, and what ran is not undone.", `{"status":{"active":5,"succeeded":4,` + start + `}}`, nil, `{"succeeded":4,` + start + `}`, ""},
		"Finished":      {"A finished Job never changes, whatever its members say.", `{"status":{"succeeded":1,` + jobConditions(before, complete) + `}}`, []Member{settled("m2", failed)}, `{"succeeded":1,` + jobConditions(before, complete) + `}`, ""},
		"HadFailed":     {"Nor does one that has failed.", `{"status":{` + jobConditions(before, failure) + `}}`, []Member{settled("m1", done), settled("m2", `[]`)}, `{` + jobConditions(before, failure) + `}`, ""},
		"Foreign":       {"The conditions of others stay.", `{"status":{"conditions":[{"type":"Suspended","status":"True"}]}}`, []Member{settled("m1", `{}`)}, `{"conditions":[{"type":"Suspended","status":"True"}]}`, ""},
		"BadTime":       {"It is not a time.", `{}`, []Member{settled("m1", `{"startTime":"noon\n"}`)}, ``, `"m1"`},
		"Negative":      {"An API server would refuse the sum.", `{}`, []Member{settled("m1", `{"succeeded":-1}`)}, ``, `"m1"`},
		"BadCounter":    {"No API server has such a Job.", `{"status":{"failed":"3"}}`, nil, ``, "source"},
		"BadConditions": {"Nor one with such conditions.", `{"status":{"conditions":3}}`, nil, ``, "source"},
		"HugeCounter":   {"Nor one with such a number, which no rule writes.", `{"status":{"failed":4294967297}}`, nil, `{}`, ""},
		"ZeroTimes":     {"The zero time is none.", `{}`, []Member{settled("m1", `{"startTime":"0001-01-01T00:00:00Z","completionTime":"0001-01-01T00:00:00Z"}`)}, `{}`, ""},
	})
}

// TestIsIdle: a Job without Pods that works off a queue does not end.
func TestIsIdle(t *testing.T) {
	type fields = map[string]any
	for name, tc := range map[string]struct {
		spec fields
		want bool
	}{
		"Idle":        {fields{"parallelism": int64(0)}, true},
		"Null":        {fields{"parallelism": int64(0), "completions": nil}, true},
		"Pods":        {fields{"parallelism": int64(1)}, false},
		"Default":     {fields{}, false},
		"Completions": {fields{"parallelism": int64(0), "completions": int64(0)}, false}, // complete at once
	} {
		if got := IsIdle(jobKind, fields{"spec": tc.spec}); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if (IsIdle(schema.GroupKind{Group: "apps", Kind: "Deployment"}, fields{"spec": fields{"parallelism": int64(0)}})) {
		t.Error("a Deployment is idle")
	}
}
