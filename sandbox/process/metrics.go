package process

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Families reads the daemon's metrics.
func (d *Daemon) Families(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	code, body, err := d.Get(ctx, "metrics", "/metrics")
	if err != nil {
		return nil, err
	}
	if code != http.StatusOK {
		return nil, fmt.Errorf("/metrics answers %d", code)
	}
	return parse(body)
}

// Metric reads the value of a series, which is written as in the exposition format:
// name{label="value"}. Of a histogram or summary it is name_count or name_sum.
func (d *Daemon) Metric(ctx context.Context, series string) (float64, error) {
	families, err := d.Families(ctx)
	if err != nil {
		return 0, err
	}
	return value(families, series)
}

func parse(text string) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(strings.NewReader(text))
}

// value finds a series among metrics.
func value(families map[string]*dto.MetricFamily, series string) (float64, error) {
	wanted, err := parse(series + " 0\n") // a series with a value is a metric of its own
	if err != nil {
		return 0, fmt.Errorf("%q is not a series: %w", series, err)
	}
	for name, family := range wanted {
		labels := family.GetMetric()[0].GetLabel()
		for _, part := range []string{"", "_count", "_sum"} {
			base, ok := strings.CutSuffix(name, part)
			if !ok {
				continue
			}
			for _, metric := range families[base].GetMetric() {
				if v, has := number(metric, part); has && sameLabels(metric.GetLabel(), labels) {
					return v, nil
				}
			}
		}
	}
	return 0, fmt.Errorf("there is no series %s", series)
}

// number is a metric's value; part is the suffix of a histogram's or summary's count or sum.
func number(m *dto.Metric, part string) (v float64, ok bool) {
	switch {
	case part == "_count" && m.Histogram != nil:
		return float64(m.GetHistogram().GetSampleCount()), true
	case part == "_sum" && m.Histogram != nil:
		return m.GetHistogram().GetSampleSum(), true
	case part == "_count" && m.Summary != nil:
		return float64(m.GetSummary().GetSampleCount()), true
	case part == "_sum" && m.Summary != nil:
		return m.GetSummary().GetSampleSum(), true
	case part != "":
		return 0, false
	case m.Gauge != nil:
		return m.GetGauge().GetValue(), true
	case m.Counter != nil:
		return m.GetCounter().GetValue(), true
	case m.Untyped != nil:
		return m.GetUntyped().GetValue(), true
	}
	return 0, false
}

func sameLabels(a, b []*dto.LabelPair) bool {
	values := map[string]string{}
	for _, label := range a {
		values[label.GetName()] = label.GetValue()
	}
	for _, label := range b {
		if v, ok := values[label.GetName()]; !ok || v != label.GetValue() {
			return false
		}
	}
	return len(a) == len(b)
}
