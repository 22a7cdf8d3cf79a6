package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// Recording holds what daemons expose while a test makes a fault. Each scrape counts as a
// minute: an alert that waits for a quarter of an hour is seen within seconds.
type Recording struct {
	began   time.Time
	minutes int
	// values are those of each series, in promtool's notation, one per minute.
	values map[string][]string
}

// scrapePace is how long a minute of a Recording takes.
const scrapePace = 300 * time.Millisecond

// NewRecording returns an empty Recording, whose clock begins at 0.
func NewRecording() *Recording {
	return &Recording{began: time.Now(), values: map[string][]string{}}
}

// Minutes scrapes daemons, by the job that each belongs to. A daemon that has ended, or nil in
// the place of one, is a target that does not answer: it has only the series up. One that is
// not among them any more has none.
func (r *Recording) Minutes(t *testing.T, n int, jobs map[string][]*Daemon) {
	t.Helper()
	for range n {
		seen := map[string]bool{}
		for job, daemons := range jobs {
			for i, d := range daemons {
				r.add(fmt.Sprintf(`job=%q,namespace="karmada-system",instance="10.0.0.%d:8080"`, job, i+1), scrape(t, d), seen)
			}
		}
		r.minutes++
		for series, values := range r.values {
			if !seen[series] {
				r.values[series] = append(values, "stale")
			}
		}
		time.Sleep(scrapePace)
	}
}

// scrape returns what a daemon exposes, and the series up that Prometheus adds.
func scrape(t *testing.T, d *Daemon) string {
	t.Helper()
	if d == nil {
		return "up 0\n"
	}
	code, text, err := d.Get(t.Context(), "metrics", "/metrics")
	if err != nil || code != http.StatusOK {
		return "up 0\n"
	}
	return text + "up 1\n"
}

// evaluated are the metrics that alerts may use, with their labels and values.
var evaluated = regexp.MustCompile(`(?m)^((?:karmada_mirror|process|workqueue)_[a-z_]*|up|leader_election_master_status|go_gc_gomemlimit_bytes|go_gc_heap_live_bytes|go_memstats_(?:heap_)?sys_bytes)(?:\{(.*)\})? (\S+)$`)

func (r *Recording) add(target, text string, seen map[string]bool) {
	for _, match := range evaluated.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(match[3], 64)
		if err != nil {
			continue
		}
		if strings.HasSuffix(match[1], "_timestamp_seconds") || match[1] == "process_start_time_seconds" {
			value -= float64(r.began.UnixMilli()) / 1000
		}
		labels := target
		if match[2] != "" {
			labels += "," + match[2]
		}
		series := match[1] + "{" + labels + "}"
		values := r.values[series]
		for range r.minutes - len(values) {
			values = append(values, "_")
		}
		r.values[series], seen[series] = append(values, strconv.FormatFloat(value, 'f', -1, 64)), true
	}
}

// WantFiring fails the test unless exactly these alerts fire at the end of a minute, those
// for information aside. promtool evaluates the rules of the manifests.
func (r *Recording) WantFiring(t *testing.T, minute int, alerts ...string) {
	t.Helper()
	var series []map[string]string
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		series = append(series, map[string]string{"series": name, "values": strings.Join(r.values[name], " ")})
	}
	samples := []map[string]any{}
	for _, name := range alerts {
		samples = append(samples, map[string]any{"labels": fmt.Sprintf("{alertname=%q}", name), "value": 1})
	}
	test := map[string]any{
		"rule_files": []string{"rules.yaml"}, "evaluation_interval": "1m",
		"tests": []any{map[string]any{"interval": "1m", "input_series": series, "promql_expr_test": []any{map[string]any{
			"expr": `group by (alertname) (ALERTS{alertstate="firing", severity!="info"})`, "eval_time": fmt.Sprintf("%dm", minute), "exp_samples": samples,
		}}}},
	}
	data, err := yaml.Marshal(test)
	Must(t, err)
	dir := t.TempDir()
	WriteFile(t, filepath.Join(dir, "test.yaml"), data)
	WriteFile(t, filepath.Join(dir, "rules.yaml"), alertRules(t))
	command := exec.CommandContext(t.Context(), promtool(t), "test", "rules", "test.yaml")
	command.Dir = dir
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("in minute %d: %v\n%s\nThe daemons reported, besides zeros:\n%s", minute, err, output, r)
	}
}

// String returns the daemon's own series that were not always 0, one per line, without
// buckets.
func (r *Recording) String() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		values := r.values[name]
		if strings.HasPrefix(name, "karmada_mirror_") && !strings.Contains(name, "_bucket{") && slices.ContainsFunc(values, func(v string) bool { return v != "0" }) {
			fmt.Fprintln(&text, name, strings.Join(values, " "))
		}
	}
	return text.String()
}

// alertRules are the rules of the manifests' PrometheusRule.
func alertRules(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(Env.Builder.Repository(), "manifests", "monitoring", "prometheusrule.yaml"))
	Must(t, err)
	var rule struct {
		Spec json.RawMessage `json:"spec"`
	}
	Must(t, yaml.Unmarshal(data, &rule))
	return rule.Spec
}

// buildPromtool compiles promtool once, without the clouds that it could find targets in.
var buildPromtool = sync.OnceValues(func() (string, error) {
	program := filepath.Join(Env.Builder.Cache(), "bin", "promtool")
	build := exec.Command("go", "build", "-tags", "remove_all_sd", "-o", program, "github.com/prometheus/prometheus/cmd/promtool")
	build.Dir = filepath.Join(Env.Builder.Repository(), "tools", "prometheus")
	if output, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("cannot build promtool: %w", err), errors.New(string(output)))
	}
	return program, nil
})

func promtool(t *testing.T) string {
	t.Helper()
	program, err := buildPromtool()
	Must(t, err)
	return program
}
