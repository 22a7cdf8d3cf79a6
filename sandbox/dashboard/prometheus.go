package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/sandbox/process"
)

const (
	scrapeInterval = 2 * time.Second
	// rateInterval is what Grafana would use: at least four scrapes.
	rateInterval = 15 * time.Second
)

// prometheus is a running Prometheus.
type prometheus struct {
	*process.Process
	api prometheusv1.API
}

// startPrometheus starts a Prometheus that scrapes the replicas and evaluates the
// alerts.
func startPrometheus(ctx context.Context, o Options, targets []string) (*prometheus, error) {
	rules, err := plainRules(o.Repository)
	if err != nil {
		return nil, err
	}
	var replicas []map[string]any
	for i, target := range targets {
		replicas = append(replicas, map[string]any{
			"targets": []string{target},
			"labels":  map[string]string{"namespace": "karmada-system", "pod": fmt.Sprintf("karmada-mirror-%d", i)},
		})
	}
	configuration, err := yaml.Marshal(map[string]any{
		"global":         map[string]any{"scrape_interval": scrapeInterval.String(), "evaluation_interval": "5s"},
		"rule_files":     []string{"rules.yaml"},
		"scrape_configs": []any{map[string]any{"job_name": "karmada-mirror", "static_configs": replicas}},
	})
	if err != nil {
		return nil, err
	}
	address, err := process.FreeAddress()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(o.Dir, "prometheus.yaml")
	for name, data := range map[string][]byte{file: configuration, filepath.Join(o.Dir, "rules.yaml"): rules} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return nil, err
		}
	}
	log, err := os.Create(filepath.Join(o.Dir, "prometheus.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own handle
	command := exec.Command(o.Prometheus, "--config.file", file, "--storage.tsdb.path", filepath.Join(o.Dir, "tsdb"), "--web.listen-address", address)
	command.Stdout, command.Stderr = log, log
	p := &prometheus{}
	if p.Process, err = process.Start(command, nil); err != nil {
		return nil, err
	}
	client, err := api.NewClient(api.Config{Address: "http://" + address})
	if err != nil {
		return nil, err
	}
	p.api = prometheusv1.NewAPI(client)
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		value, _, _, err := p.api.Query(ctx, `up == 1`, time.Now())
		scraped, _ := value.(model.Vector)
		return err == nil && len(scraped) == len(targets), nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot scrape the replicas with Prometheus, see %s: %w", log.Name(), err)
	}
	return p, nil
}

// plainRules returns the rules of the PrometheusRule in Prometheus's own format.
func plainRules(repository string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(repository, "manifests", "monitoring", "prometheusrule.yaml"))
	if err != nil {
		return nil, err
	}
	var rule struct {
		Spec json.RawMessage `json:"spec"`
	}
	err = yaml.Unmarshal(data, &rule)
	return rule.Spec, err
}

// line is a series of a panel, with its name in the legend.
type line struct {
	name   string
	points []model.SamplePair
}

// query runs the queries of all panels and returns their results by panel title. A
// panel with a single number shows the last point of its only line.
func (p *prometheus) query(ctx context.Context, b board, begin, end time.Time) (map[string][]line, error) {
	results := map[string][]line{}
	for _, panel := range b.Panels {
		for _, target := range panel.Targets {
			text := variables(rateInterval).Replace(target.Expr)
			value, _, _, err := p.api.QueryRange(ctx, text, prometheusv1.Range{Start: begin, End: end, Step: scrapeInterval})
			if err != nil {
				return nil, fmt.Errorf("cannot evaluate %q: %w", panel.Title, err)
			}
			matrix, ok := value.(model.Matrix)
			if !ok {
				return nil, fmt.Errorf("the query of %q returns a %s", panel.Title, value.Type())
			}
			for _, series := range matrix {
				results[panel.Title] = append(results[panel.Title], line{legend(target.LegendFormat, series.Metric), series.Values})
			}
		}
		slices.SortFunc(results[panel.Title], func(a, b line) int { return strings.Compare(a.name, b.name) })
	}
	return results, nil
}

var placeholder = regexp.MustCompile(`{{(\w+)}}`)

func legend(format string, metric model.Metric) string {
	return placeholder.ReplaceAllStringFunc(format, func(text string) string {
		return string(metric[model.LabelName(strings.Trim(text, "{}"))])
	})
}
