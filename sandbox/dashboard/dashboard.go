// Package dashboard draws manifests/monitoring/dashboard.json from a run: a real
// karmada-mirror under a workload, scraped by Prometheus. Each panel shows the result
// of its own query. Grafana draws more nicely, but is not needed here.
package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// Options configure a run.
type Options struct {
	// Karmada is a sandbox with the members member1, member2 and member3.
	Karmada *karmada.Karmada
	// Repository is the folder of the repository, Dir the folder for the run's files.
	Repository, Dir string
	// Daemon and Prometheus are paths of programs.
	Daemon, Prometheus string
	// Picture is the PNG file to write.
	Picture string
	Out     io.Writer
}

// board is the part of a Grafana dashboard that is read.
type board struct {
	Title  string  `json:"title"`
	Panels []panel `json:"panels"`
}

type panel struct {
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct {
		X, Y, W, H int
	} `json:"gridPos"`
	Targets []struct {
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
	} `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Unit       string   `json:"unit"`
			Max        *float64 `json:"max"`
			Thresholds struct {
				Steps []struct {
					Color string   `json:"color"`
					Value *float64 `json:"value"`
				} `json:"steps"`
			} `json:"thresholds"`
			Mappings []struct {
				Options map[string]struct {
					Text string `json:"text"`
				} `json:"options"`
			} `json:"mappings"`
			Custom struct {
				Interpolation string `json:"lineInterpolation"`
				Stacking      struct {
					Mode string `json:"mode"`
				} `json:"stacking"`
			} `json:"custom"`
		} `json:"defaults"`
		Overrides []struct {
			Matcher struct {
				Options string `json:"options"`
			} `json:"matcher"`
			Properties []struct {
				Value json.RawMessage `json:"value"`
			} `json:"properties"`
		} `json:"overrides"`
	} `json:"fieldConfig"`
}

// Run runs karmada-mirror for a few minutes and draws the dashboard.
func Run(ctx context.Context, o Options) (err error) {
	data, err := os.ReadFile(filepath.Join(o.Repository, "manifests", "monitoring", "dashboard.json"))
	if err != nil {
		return fmt.Errorf("cannot read the dashboard: %w", err)
	}
	var b board
	if err := json.Unmarshal(data, &b); err != nil {
		return fmt.Errorf("cannot decode the dashboard: %w", err)
	}
	r, err := newRun(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	p, err := startPrometheus(ctx, o, r.addresses[:])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	begin := time.Now()
	if err := r.workload(ctx); err != nil {
		return err
	}
	results, err := p.query(ctx, b, begin, time.Now())
	if err != nil {
		return err
	}
	return draw(o.Picture, b, results)
}

// variables replaces the variables of a query as Grafana would.
func variables(interval time.Duration) *strings.Replacer {
	return strings.NewReplacer("$__rate_interval", interval.String(), "$job", ".*", "$resource", ".*", "$member_cluster", ".*")
}
