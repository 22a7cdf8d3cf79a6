package prometheus

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the table of alerts in docs/reference/metrics.md")

const (
	monitoring = "../../manifests/monitoring"
	runbooks   = "../../docs/runbooks"
	reference  = "../../docs/reference/metrics.md"
)

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// prometheusRule is the part of the PrometheusRule that is read here; promtool reads its
// spec.
type prometheusRule struct {
	Spec struct {
		Groups []struct {
			Rules []rule `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	GridPos     struct {
		X, Y, W, H int
	} `json:"gridPos"`
	Datasource struct {
		UID string `json:"uid"`
	} `json:"datasource"`
	Targets []struct {
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
	} `json:"targets"`
}

type dashboard struct {
	UID        string  `json:"uid"`
	Panels     []panel `json:"panels"`
	Templating struct {
		List []struct {
			Name       string `json:"name"`
			Definition string `json:"definition"`
		} `json:"list"`
	} `json:"templating"`
}

func read(t *testing.T, elements ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func alerts(t *testing.T) []rule {
	t.Helper()
	var r prometheusRule
	if err := yaml.Unmarshal(read(t, monitoring, "prometheusrule.yaml"), &r); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, group := range r.Spec.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("there are no rules")
	}
	return all
}

func panels(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal(read(t, monitoring, "dashboard.json"), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestAlerts runs the unit tests of the rules with promtool: the spec of a PrometheusRule
// is a rules file.
func TestAlerts(t *testing.T) {
	var object struct {
		Spec json.RawMessage `json:"spec"`
	}
	if err := yaml.Unmarshal(read(t, monitoring, "prometheusrule.yaml"), &object); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"prometheusrule.yaml":      object.Spec, // JSON is YAML
		"prometheusrule_test.yaml": read(t, monitoring, "prometheusrule_test.yaml"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, arguments := range [][]string{{"check", "rules", "prometheusrule.yaml"}, {"test", "rules", "prometheusrule_test.yaml"}} {
		command := exec.CommandContext(t.Context(), promtool(t), arguments...)
		command.Dir = dir
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, output)
		}
	}
}

// promtool builds promtool without the clouds in which it could discover targets.
func promtool(t *testing.T) string {
	t.Helper()
	program, err := filepath.Abs("../../.cache/bin/promtool")
	if err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "remove_all_sd", "-o", program, "github.com/prometheus/prometheus/cmd/promtool")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build promtool: %v\n%s", err, output)
	}
	return program
}

// TestEveryAlertIsTested expects tests in which each alert fires and resolves, and in
// which it does not fire although something harmless looks like its cause.
func TestEveryAlertIsTested(t *testing.T) {
	var file struct {
		Tests []struct {
			Checks []struct {
				Alert    string `json:"alertname"`
				Expected []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	if err := yaml.Unmarshal(read(t, monitoring, "prometheusrule_test.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	resolves, harmless := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		fires := map[string]bool{}
		for _, check := range test.Checks {
			fired := fires[check.Alert]
			fires[check.Alert] = fired || len(check.Expected) > 0
			resolves[check.Alert] = resolves[check.Alert] || fired && len(check.Expected) == 0
		}
		for alert, fired := range fires {
			harmless[alert] = harmless[alert] || !fired
		}
	}
	for _, r := range alerts(t) {
		if !resolves[r.Alert] {
			t.Errorf("no test sees %s fire and resolve", r.Alert)
		}
		if !harmless[r.Alert] {
			t.Errorf("no test sees %s keep quiet throughout", r.Alert)
		}
	}
}

func TestRunbooks(t *testing.T) {
	const base = "https://github.com/karmada-target/karmada-mirror/blob/main/docs/runbooks/"
	var want []string
	for _, r := range alerts(t) {
		page := r.Alert + ".md"
		want = append(want, page)
		if r.Annotations["runbook_url"] != base+page {
			t.Errorf("the runbook of %s is %q", r.Alert, r.Annotations["runbook_url"])
		}
		for _, key := range []string{"summary", "description"} {
			if r.Annotations[key] == "" {
				t.Errorf("%s has no %s", r.Alert, key)
			}
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("the severity of %s is %q", r.Alert, r.Labels["severity"])
		}
		text, err := os.ReadFile(filepath.Join(runbooks, page))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, heading := range []string{"# " + r.Alert, "## What it means", "## How bad it is", "## Find the cause", "## Fix it", "## When it resolves"} {
			if !slices.Contains(strings.Split(string(text), "\n"), heading) {
				t.Errorf("%s has no heading %q", page, heading)
			}
		}
	}
	entries, err := os.ReadDir(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !slices.Contains(want, entry.Name()) {
			t.Errorf("%s belongs to no alert", entry.Name())
		}
	}
}

// TestAlertTable compares the table of alerts in the reference with the rules.
func TestAlertTable(t *testing.T) {
	const begin, end = "<!-- begin: written by go test . -run TestAlertTable -update, in tools/prometheus -->\n", "<!-- end of the alerts -->\n"
	var b strings.Builder
	b.WriteString("| alert | severity | says |\n|---|---|---|\n")
	placeholder := regexp.MustCompile(`{{ \$(?:labels\.)?(\w+) }}`)
	for _, r := range alerts(t) {
		says := placeholder.ReplaceAllString(r.Annotations["summary"], "<$1>")
		fmt.Fprintf(&b, "| [%s](../runbooks/%s.md) | %s | %s |\n", r.Alert, r.Alert, r.Labels["severity"], strings.NewReplacer("<", "*", ">", "*").Replace(says))
	}
	head, rest, found := strings.Cut(string(read(t, reference)), begin)
	got, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s lacks the marks of the table", reference)
	}
	if *update {
		if err := os.WriteFile(reference, []byte(head+begin+b.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != b.String() {
		t.Errorf("run go test . -run TestAlertTable -update; the table is\n%s", got)
	}
}

// series are the metrics of the reference with their labels, as Prometheus stores them;
// sandbox/e2e compares the reference with what a daemon exposes.
func series(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{"ALERTS": {"alertname", "alertstate"}, "up": {"job", "instance", "namespace", "pod"}} // of Prometheus itself
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (gauge|counter|histogram) \\| (.*?) \\|")
	label := regexp.MustCompile("`([a-z_]+)`")
	for _, match := range row.FindAllStringSubmatch(string(read(t, reference)), -1) {
		// The scrape adds these.
		names := []string{"job", "instance", "namespace", "pod"}
		for _, l := range label.FindAllStringSubmatch(match[3], -1) {
			names = append(names, l[1])
		}
		if match[2] != "histogram" {
			all[match[1]] = names
			continue
		}
		all[match[1]+"_sum"], all[match[1]+"_count"] = names, names
		all[match[1]+"_bucket"] = append(slices.Clone(names), "le")
	}
	return all
}

// wantKnown checks that an expression uses only metrics and labels in the reference.
func wantKnown(t *testing.T, where, text string) {
	t.Helper()
	expr, err := parser.ParseExpr(text)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	known := series(t)
	var inScope []string
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		names, ok := known[selector.Name]
		if !ok {
			t.Errorf("%s: the reference has no metric %s", where, selector.Name)
		}
		inScope = append(inScope, names...)
		for _, m := range selector.LabelMatchers {
			if m.Name != model.MetricNameLabel && !slices.Contains(names, m.Name) {
				t.Errorf("%s: %s has no label %s", where, selector.Name, m.Name)
			}
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		var used []string
		switch node := node.(type) {
		case *parser.AggregateExpr:
			used = node.Grouping
		case *parser.BinaryExpr:
			if node.VectorMatching != nil {
				used = append(node.VectorMatching.MatchingLabels, node.VectorMatching.Include...)
			}
		}
		for _, name := range used {
			if !slices.Contains(inScope, name) {
				t.Errorf("%s: no metric in it has the label %s", where, name)
			}
		}
		return nil
	})
}

func TestNamesInAlerts(t *testing.T) {
	for _, r := range alerts(t) {
		wantKnown(t, r.Alert, r.Expr)
	}
}

// variables replaces the variables of a query as Grafana would.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$resource", ".*", "$member_cluster", ".*")

func TestDashboard(t *testing.T) {
	d := panels(t)
	if d.UID != "karmada-mirror" {
		t.Errorf("its uid is %q: links to it would break", d.UID)
	}
	ids, cells := map[int]string{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if other, taken := ids[p.ID]; taken {
			t.Errorf("%q and %q have the same id", p.Title, other)
		}
		ids[p.ID] = p.Title
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, taken := cells[[2]int{x, y}]; taken || x >= 24 {
					t.Fatalf("%q overlaps %q, or lies outside", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("%q lacks a description, a query or the data source", p.Title)
		}
		for _, target := range p.Targets {
			wantKnown(t, p.Title, variables.Replace(target.Expr))
			for _, match := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if !regexp.MustCompile(`by \([^)]*\b` + match[1] + `\b[^)]*\)`).MatchString(target.Expr) {
					t.Errorf("%q: the legend names %s, which the query drops", p.Title, match[1])
				}
			}
		}
	}
	for _, v := range d.Templating.List {
		if match := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(v.Definition); match != nil {
			wantKnown(t, "variable "+v.Name, fmt.Sprintf("count by (%s) (%s)", match[2], variables.Replace(match[1])))
		} else if v.Name != "datasource" {
			t.Errorf("variable %s is %q", v.Name, v.Definition)
		}
	}
}
