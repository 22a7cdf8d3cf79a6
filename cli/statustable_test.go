package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTableFits: in a terminal, a line is no longer than the terminal is wide, as long as there is room for a message, and a
// pipe gets all of it.
func TestTableFits(t *testing.T) {
	long := strings.Repeat("the message, ü, ", 20)
	lines := []mirrorStatus{
		{Source: sourceName{"autoscaling", "HorizontalPodAutoscaler", "orders", "orders"}, Cluster: "m1", Message: long},
		{Source: sourceName{"shop.example", "Coupon", "orders", "ten"}, Cluster: "m1", Work: &workStatus{Name: "ten-978877d46", Applied: "True", Health: "Healthy"}},
		{Source: sourceName{"", "Node", "", "one"}, Cluster: "m1", Waits: true, Message: "short"},
	}
	for _, c := range []struct {
		width            int
		wide, namespaces bool
		anywhere         bool
		has, lacks       []string
	}{
		{100, false, false, false, []string{"hpa/orders ", "coupon.shop.example/ten ", "node/one", "Later", "short", "…"}, []string{"WORK", "978877d46", "orders/orders", "NAMESPACE"}},
		{60, false, false, false, []string{string([]rune(long)[:leastMessage-1]) + "…"}, []string{"WORK"}},
		{140, false, true, false, []string{"NAMESPACE", "orders      hpa/orders "}, []string{"WORK"}},
		{140, false, false, true, []string{"hpa/orders/orders ", "node/one "}, []string{"WORK"}},
		{100, true, false, false, []string{long, "HorizontalPodAutoscaler.autoscaling/orders/orders", "/ten-978877d46"}, []string{"…"}},
		{0, false, false, false, []string{long, "HorizontalPodAutoscaler.autoscaling/orders/orders", "ten-978877d46"}, []string{"…"}},
	} {
		t.Run(fmt.Sprint(c.width, c.wide, c.namespaces, c.anywhere), func(t *testing.T) {
			var out bytes.Buffer
			table := newStatusTable(c.wide, c.namespaces, &out)
			table.width, table.isAnywhere = c.width, c.anywhere
			pages := slices.Repeat([]mirrorStatus{{Source: sourceName{"", "ConfigMap", "orders", "page"}, Cluster: "m1", Message: long}}, tablePage)
			for _, line := range slices.Concat(lines, pages) { // the second page is laid out as the first
				if err := table.print(line); err != nil {
					t.Fatal(err)
				}
			}
			if err := table.flush(); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.has {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing:\n%s", want, &out)
				}
			}
			for _, no := range c.lacks {
				if strings.Contains(out.String(), no) {
					t.Errorf("%q is there:\n%s", no, &out)
				}
			}
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); c.width >= 100 && !c.wide && n > c.width {
					t.Errorf("a line of %d characters in %d:\n%s", n, c.width, line)
				}
			}
		})
	}
}

// TestCells: a word says how an object is in a cluster, and what is not about its present content is not called applied.
func TestCells(t *testing.T) {
	three := int64(3)
	done := func(change func(*workStatus)) *workStatus {
		w := &workStatus{State: "Applied", Applied: "True", Health: "Healthy"}
		change(w)
		return w
	}
	nothing := func(*workStatus) {}
	for name, c := range map[string]struct {
		line          mirrorStatus
		applied, cell string
	}{
		"Done":      {mirrorStatus{Decision: "Wanted", Work: done(nothing)}, "True", "OK"},
		"Ready":     {mirrorStatus{Decision: "Wanted", Work: done(func(w *workStatus) { w.Ready, w.Wanted = &three, &three })}, "True", "3/3"},
		"Unhealthy": {mirrorStatus{Decision: "Wanted", Work: done(func(w *workStatus) { w.Health = "Unhealthy" })}, "True", "Unhealthy"},
		"NoHealth":  {mirrorStatus{Decision: "Wanted", Work: done(func(w *workStatus) { w.Health = "" })}, "True", "Unknown"},
		"Failed":    {mirrorStatus{Decision: "Wanted", Work: done(func(w *workStatus) { w.Applied = "False" })}, "False", "Failed"},
		"Pending":   {mirrorStatus{Decision: "Wanted", Work: done(func(w *workStatus) { w.Applied = "" })}, "", "Pending"},
		"Outdated":  {mirrorStatus{Decision: "Wanted", Operation: "update", Work: done(nothing)}, "True", "Outdated"},
		"Suspended": {mirrorStatus{Decision: "Wanted", Work: done(func(w *workStatus) { w.State = "suspended" })}, "Suspended", "Suspended"},
		"Later":     {mirrorStatus{Decision: "Unknown", Waits: true, Work: done(nothing)}, "Later", "Later"},
		"LaterNew":  {mirrorStatus{Decision: "Unknown", Waits: true}, "Later", "Later"},
		"Missing":   {mirrorStatus{Decision: "Wanted", Operation: "create"}, "", "Missing"},
		"Refused":   {mirrorStatus{Decision: "Unknown", Work: done(nothing)}, "True", "Refused"},
		"Kept":      {mirrorStatus{Decision: "Unknown", isKept: true, Work: done(nothing)}, "True", "Kept"},
		"NoCluster": {mirrorStatus{Decision: "Unknown", lacksCluster: true}, "", "NoCluster"},
		"Leaving":   {mirrorStatus{Decision: "Unwanted", Operation: "delete", Work: done(nothing)}, "True", "Leaving"},
		"Deleting":  {mirrorStatus{Decision: "Wanted", Work: done(func(w *workStatus) { w.State = "deleting" })}, "True", "Leaving"},
		"Hidden":    {mirrorStatus{Decision: "Wanted", isHidden: true}, "", "?"},
		"Held":      {mirrorStatus{Decision: "Unwanted", Work: done(func(w *workStatus) { w.DeletionHeld = true })}, "True", "Held"},
	} {
		if applied, cell := c.line.appliedCell(), c.line.cell(); applied != c.applied || cell != c.cell {
			t.Errorf("%s: %q and %q, want %q and %q", name, applied, cell, c.applied, c.cell)
		}
	}
}

// TestExplainedLater: what Karmada has applied in a cluster of a later wave is not what the object says now.
func TestExplainedLater(t *testing.T) {
	c := explainedCluster{Cluster: "m2", Waits: true, Decision: "Unknown", Because: "m1 is first", Work: &workStatus{Namespace: "karmada-es-m2", Name: "web-1", State: "applied"}}
	const want = "\nm2: Later\n  Because:  m1 is first\n  Work:     karmada-es-m2/web-1\n  State:    applied, with the content that it had before\n"
	if diff := cmp.Diff(want, c.text()); diff != "" {
		t.Error(diff)
	}
}

// TestAilment: what a reported status says is amiss is said in its words.
func TestAilment(t *testing.T) {
	type fields = map[string]any
	condition := func(kind, status, reason, message string) any {
		return fields{"type": kind, "status": status, "reason": reason, "message": message}
	}
	for want, status := range map[string]fields{
		"": {"conditions": []any{condition("Available", "True", "a", "b"), condition("Stalled", "False", "a", "b"), condition("Custom", "False", "a", "b")}},
		"Progressing is False: ProgressDeadlineExceeded: it has timed out": {"conditions": []any{condition("Available", "True", "", ""), condition("Progressing", "False", "ProgressDeadlineExceeded", "it has timed out")}},
		"phase Pending": {"phase": "Pending"},
		"Failed is True: BackoffLimitExceeded; phase Failed": {"phase": "Failed", "conditions": []any{condition("Failed", "True", "BackoffLimitExceeded", "")}},
		"phase " + strings.Repeat("ü", 993) + "…":            {"phase": strings.Repeat("ü", 2000)},
		"Ready is Unknown": {"conditions": []any{"odd", fields{"type": int64(1)}, condition("Ready", string(metav1.ConditionUnknown), "", "")}},
	} {
		if got := ailmentOf(status); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := ailmentOf(nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

// TestOneOf: the one line of an object claims nothing that the others do not.
func TestOneOf(t *testing.T) {
	line := func(cluster, message string) mirrorStatus { return mirrorStatus{Cluster: cluster, Message: message} }
	hidden := mirrorStatus{Cluster: "m2", isHidden: true}
	for want, lines := range map[string][]mirrorStatus{
		"": nil, "one": {line("m1", "one")}, "sum": {{Clusters: &clustersStatus{}, Message: "sum"}, line("m1", "one"), line("m2", "two")},
		"refused": {line("m1", "one"), line("", "refused")}, "you may not read all of its Works": {line("m1", "one"), hidden},
	} {
		one := oneOf(lines)
		if len(one) != min(len(lines), 1) || len(one) > 0 && one[0].Message != want {
			t.Errorf("%q: %v", want, one)
		}
	}
}
