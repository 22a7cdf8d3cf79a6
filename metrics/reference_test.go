package metrics_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

var update = flag.Bool("update", false, "write the table of docs/reference/metrics.md")

const (
	page  = "../docs/reference/metrics.md"
	begin = "<!-- begin: written by go test ./metrics -update -->\n"
	end   = "<!-- end -->\n"
)

// open are the labels whose values are not bounded.
var open = []string{"version", "revision", "go_version", "resource", "member_cluster", "configuration"}

// everything returns a registry in which every metric has every bounded value of
// its labels.
func everything() *prometheus.Registry {
	registry := prometheus.NewPedanticRegistry()
	m := metrics.New(registry, metrics.Build{Version: "any", Revision: "any", GoVersion: "any"})
	for _, operation := range []judge.OperationKind{judge.Create, judge.Update, judge.Delete} {
		m.Operation(string(operation), "any", nil)
		m.Operation(string(operation), "any", errors.New("any"))
	}
	for _, result := range []string{"success", "error", "refused"} {
		m.Sync(result, time.Second)
	}
	m.Propagation("any", time.Second)
	m.SweepRepair("any")
	m.StatusUpdate("any", nil)
	m.StatusUpdate("any", errors.New("any"))
	m.ConfigReload(nil, time.Unix(1, 0))
	m.Configuration("any")
	m.LeaderPresent(func() bool { return true })
	m.LogLinesDropped(func() int64 { return 1 })
	m.Token(func() (issued, expires time.Time) { return time.Unix(1, 0), time.Unix(2, 0) })
	s := metrics.Snapshot{
		Watches:   []metrics.Watch{{Resource: "any", State: "ready", LastEvent: time.Unix(1, 0)}},
		Works:     map[metrics.WorkKey]int{},
		Refused:   map[string]int{},
		Denied:    map[string]int{},
		Held:      map[string]int{"any": 1},
		WaveHeld:  map[string]int{"any": 1},
		Contested: map[string]int{string(judge.WorkContested): 1, string(judge.StatusContested): 1},
		Failing:   map[string]metrics.Failing{"finalizer": {Since: time.Unix(1, 0)}, "mirror": {Since: time.Unix(1, 0)}, "status": {Since: time.Unix(1, 0)}},
	}
	for of := state.WorkApplied; of <= state.WorkDeleting; of++ {
		s.Works[metrics.WorkKey{Cluster: "any", State: of.String()}] = 1
	}
	for _, reason := range []judge.Reason{
		judge.InvalidAnnotation, judge.UnknownCluster, judge.ForbiddenResource, judge.ReservedNamespace, judge.ClaimedByPolicy,
		judge.WorkConflict, judge.TooLarge, judge.RenderFailed, judge.DeletionHeld, judge.NotAuthorized, judge.OverrideFailed,
	} {
		s.Refused[string(reason)] = 1
	}
	for _, by := range []judge.Denial{judge.ByAuthorization, judge.ByAdmission, judge.ByValidation, judge.BySize} {
		s.Denied[string(by)] = 1
	}
	m.Observe(func() metrics.Snapshot { return s })
	return registry
}

// table describes all metrics of a registry, one row each.
func table(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, family := range families {
		values := map[string]map[string]bool{}
		for _, metric := range family.GetMetric() {
			for _, pair := range metric.GetLabel() {
				if values[pair.GetName()] == nil {
					values[pair.GetName()] = map[string]bool{}
				}
				values[pair.GetName()][pair.GetValue()] = true
			}
		}
		var labels []string
		for _, label := range slices.Sorted(maps.Keys(values)) {
			text := "`" + label + "`"
			if !slices.Contains(open, label) {
				text += ": " + strings.Join(slices.Sorted(maps.Keys(values[label])), ", ")
			}
			labels = append(labels, text)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", family.GetName(), strings.ToLower(family.GetType().String()), strings.Join(labels, "; "), family.GetHelp())
	}
	return b.String()
}

func TestReference(t *testing.T) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(data), begin)
	got, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s lacks the marks of the table", page)
	}
	want := table(t, everything())
	if *update {
		if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run go test ./metrics -run TestReference -update (-want +got):\n%s", diff)
	}
}
