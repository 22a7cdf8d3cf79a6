package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestNews compares what is printed of a source that has changed.
func TestNews(t *testing.T) {
	id := render.Identity{Kind: "ConfigMap", Namespace: "shop", Name: "page"}
	in := func(cluster, applied, message string) mirrorStatus {
		line := newStatusLine(id)
		line.Cluster, line.Message, line.Work = cluster, message, &workStatus{Applied: applied, CreationTimestamp: metav1.Now()}
		return line
	}
	missing := func(cluster string) mirrorStatus {
		line := in(cluster, "", "no Work")
		line.Work = nil
		return line
	}
	older := in("m1", "True", "")
	older.Work.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
	withSum := func(lines ...mirrorStatus) []mirrorStatus {
		return append([]mirrorStatus{sumOf(id, lines, judge.Verdict{})}, lines...)
	}
	refused := missing("")
	cases := map[string]struct {
		reason        string
		before, after []mirrorStatus
		want          []string // cluster, or the sum, and message
	}{
		"First":       {"the list", nil, withSum(in("m1", "True", ""), in("m2", "True", "")), []string{"2/2: ", "m1: ", "m2: "}},
		"Same":        {"an event without an effect", withSum(in("m1", "True", ""), in("m2", "True", "")), withSum(in("m1", "True", ""), in("m2", "True", "")), nil},
		"Age":         {"time passes", []mirrorStatus{older}, []mirrorStatus{in("m1", "True", "")}, nil},
		"One":         {"one line changes, and the sum with it", withSum(in("m1", "True", ""), in("m2", "True", "")), withSum(in("m1", "True", ""), in("m2", "False", "no")), []string{"1/2: 1 of 2 clusters: no", "m2: no"}},
		"NotTheSum":   {"a line changes, but not the sum", withSum(in("m1", "False", "no"), in("m2", "False", "no")), withSum(in("m1", "False", "no"), in("m2", "False", "nor")), []string{"0/2: 2 of 2 clusters, for example: no", "m2: nor"}},
		"Left":        {"of two clusters, one is left", withSum(in("m1", "True", ""), in("m2", "True", "")), []mirrorStatus{in("m1", "True", "")}, []string{"m2: its Work was deleted"}},
		"Gone":        {"the source was deleted", []mirrorStatus{in("m1", "True", "")}, nil, []string{"m1: its Work was deleted"}},
		"NotMirrored": {"a cluster without a Work leaves", []mirrorStatus{missing("m1"), in("m2", "True", "")}, []mirrorStatus{in("m2", "True", "")}, []string{"m1: it no longer asks for this cluster"}},
		"Refused":     {"the source is refused", nil, []mirrorStatus{refused}, []string{": no Work"}},
		"Mended":      {"the source is no longer refused", []mirrorStatus{refused}, []mirrorStatus{missing("m1")}, []string{"m1: no Work"}},
		"GivenUp":     {"the refused source no longer asks", []mirrorStatus{refused}, nil, []string{": it no longer asks to be mirrored"}},
		"Silent":      {"a source that does not ask", nil, nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			told := printedLines{}
			told.news(id, c.before)
			var got []string
			for _, line := range told.news(id, c.after) {
				got = append(got, (&statusTable{}).cellsOf(line)[0]+": "+line.Message)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			if again := told.news(id, c.after); len(again) > 0 {
				t.Errorf("%s: told twice: %v", c.reason, again)
			}
			if (len(told) == 0) != (len(c.after) == 0) {
				t.Errorf("%s: %s is remembered: %v", c.reason, strings.Join(c.want, ", "), told)
			}
		})
	}
}

// TestNoticeBesideReason: what Karmada says of a Work goes before a notice that may be about another cluster.
func TestNoticeBesideReason(t *testing.T) {
	v := judge.Verdict{Targets: map[string]judge.Target{"m1": {Decision: judge.Wanted}}, Notices: []judge.Refusal{{Reason: judge.DependencyNotMirrored, Message: "a ConfigMap"}}}
	for _, tc := range []struct {
		work workStatus
		want string
	}{
		{workStatus{}, "DependencyNotMirrored: a ConfigMap"}, {workStatus{Applied: "False", Reason: "it already exists"}, "it already exists"}, {workStatus{Applied: "True"}, ""},
		{workStatus{State: state.WorkSuspended.String()}, "it is suspended"},
	} {
		if got := messageOf(v, "m1", judge.Operation{}, &tc.work); got != tc.want {
			t.Errorf("%+v: %s", tc.work, got)
		}
	}
}
