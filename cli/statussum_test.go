package cli

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestSum compares the cells of the line that sums up others: cluster, Work, ready, applied, health
// and age, and the message.
func TestSum(t *testing.T) {
	line := func(applied, health string, ready, wanted int64, age time.Duration, message string) mirrorStatus {
		w := &workStatus{Applied: applied, Health: health, CreationTimestamp: metav1.NewTime(time.Now().Add(-age))}
		if wanted >= 0 {
			w.Ready, w.Wanted = &ready, &wanted
		}
		return mirrorStatus{Work: w, Message: message}
	}
	const hour, unknown = time.Hour, -1
	fine := line("True", "Healthy", 2, 2, hour, "")
	cases := map[string]struct {
		reason   string
		lines    []mirrorStatus
		refusals []judge.Refusal
		want     []string
	}{
		"Fine":       {"all is well", []mirrorStatus{fine, line("True", "Healthy", 3, 3, 5*hour, "")}, nil, []string{"2/2", "", "5/5", "True", "Healthy", "5h", ""}},
		"Failed":     {"one failure is the worst", []mirrorStatus{fine, line("False", "Unknown", 0, 2, hour, "no"), fine}, nil, []string{"2/3", "", "4/6", "False", "Unknown", "60m", "1 of 3 clusters: no"}},
		"Unhealthy":  {"an unhealthy one is", []mirrorStatus{fine, line("True", "Unknown", 1, 2, hour, ""), line("True", "Unhealthy", 0, 2, hour, "")}, nil, []string{"3/3", "", "3/6", "True", "Unhealthy", "60m", ""}},
		"Unreported": {"unknown is not zero", []mirrorStatus{fine, line("", "", 0, unknown, 2*hour, "not yet")}, nil, []string{"1/2", "", "", "Unknown", "Unknown", "120m", "1 of 2 clusters: not yet"}},
		"Missing":    {"a cluster without a Work has no Pods to wait for", []mirrorStatus{fine, {Message: "no cluster"}}, nil, []string{"1/2", "", "2/2", "Unknown", "Unknown", "60m", "1 of 2 clusters: no cluster"}},
		"NoWork":     {"no Work has been created", []mirrorStatus{{Message: "no Work"}, {Message: "no Work"}}, nil, []string{"0/2", "", "", "", "", "-", "2 of 2 clusters: no Work"}},
		"NoHealth":   {"Karmada does not know the health of the kind", []mirrorStatus{line("True", "Unknown", 0, unknown, hour, ""), line("True", "Unknown", 0, unknown, hour, "")}, nil, []string{"2/2", "", "", "True", "Unknown", "60m", ""}},
		"Several":    {"several messages do not fit", []mirrorStatus{line("False", "", 0, unknown, hour, "one"), line("False", "", 0, unknown, hour, "two"), fine}, nil, []string{"1/3", "", "", "False", "Unknown", "60m", "2 of 3 clusters, for example: one"}},
		"Later":      {"some have an earlier content", []mirrorStatus{fine, {Waits: true, Work: fine.Work}}, nil, []string{"2/2", "", "4/4", "Later", "Healthy", "60m", ""}},
		"LaterAndNo": {"a failure is the worst", []mirrorStatus{line("False", "Unknown", 0, 2, hour, ""), {Waits: true, Work: fine.Work}}, nil, []string{"1/2", "", "2/4", "False", "Unknown", "60m", ""}},
		"Refused":    {"a refusal is the source's own", []mirrorStatus{line("True", "Healthy", 2, 2, hour, "InvalidAnnotation: x"), fine}, []judge.Refusal{{Reason: judge.InvalidAnnotation, Message: "x\ny"}}, []string{"2/2", "", "4/4", "True", "Healthy", "60m", "InvalidAnnotation: x y"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			sum := sumOf(render.Identity{Kind: "ConfigMap", Namespace: "shop", Name: "page"}, c.lines, judge.Verdict{Refusals: c.refusals})
			if diff := cmp.Diff(c.want, append((&statusTable{}).cellsOf(sum), sum.Message)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestStatusOfLongName: Karmada up to 1.18 does not find a Work with the longer name, so what it reports may be
// from before the object was deleted in the member.
func TestStatusOfLongName(t *testing.T) {
	source := configMapOf("shop", "page", map[string]string{render.ClustersAnnotation: "m1"}, nil)
	id := render.Identity{Kind: "ConfigMap", Namespace: "shop", Name: "page"}
	template := judge.NewSource(source.DeepCopy(), render.Wishes{}).Template
	for want, made := range map[string]*render.Template{"": template, judge.NoteLong: template.Long()} {
		work := reported(t, source, metav1.ConditionTrue, "", "Healthy")
		status := work.Object["status"]
		if err := work.UnmarshalJSON(made.Work("m1")); err != nil {
			t.Fatal(err)
		}
		work.Object["status"] = status
		states := workStates{}
		states.note(work)
		lines := statusesOf(judge.On(judge.Facts{
			ID: id, Source: judge.NewSource(source.DeepCopy(), render.Wishes{}), PoliciesLive: true,
			Clusters: map[string]judge.ClusterFacts{"m1": {State: judge.ClusterJoined}}, Works: map[string]*state.Work{"m1": state.NewWork(work)},
		}), states, func(string) bool { return false })
		if len(lines) != 1 || lines[0].Message != want {
			t.Errorf("%s: %+v", work.GetName(), lines)
		}
	}
}

// TestUnknownNamesOnce: a misspelt name has one line, whether or not the object reaches a cluster.
func TestUnknownSuspendedOnce(t *testing.T) {
	for clusters, want := range map[string]int{"m1": 2, "far-*": 1} {
		source := configMapOf("shop", "page", map[string]string{render.ClustersAnnotation: clusters, render.SuspendAnnotation: "m9"}, nil)
		s := &statusCommand{selection: &selection{survey: &gather.Survey{Reader: &gather.Reader{}}}, states: workStates{}}
		lines := s.linesOf(judge.Facts{
			ID: render.Identity{Kind: "ConfigMap", Namespace: "shop", Name: "page"}, Source: judge.NewSource(source, render.Wishes{}), PoliciesLive: true,
			Clusters: map[string]judge.ClusterFacts{"m1": {State: judge.ClusterJoined}}, Works: map[string]*state.Work{},
		})
		if len(lines) != want {
			t.Errorf("%s: %d lines: %+v", clusters, len(lines), lines)
		}
	}
}
