package process

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Families reads the daemon's metrics.
func (d *Daemon) Families(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	code, body, err := d.Get(ctx, "metrics", "/metrics")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("it answers %d: %.200s", code, body)
	}
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(strings.NewReader(body))
}

// Series reads all of the daemon's series by their names in the text format:
// name{label="value",other="value"}, the labels in alphabetical order. A histogram has the
// series name_count, name_sum and name_bucket.
func (d *Daemon) Series(ctx context.Context) (map[string]float64, error) {
	families, err := d.Families(ctx)
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for _, family := range families {
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, family)
		if err != nil {
			return nil, fmt.Errorf("cannot read the metric %s: %w", family.GetName(), err)
		}
		for _, sample := range samples {
			values[nameOf(sample.Metric)] = float64(sample.Value)
		}
	}
	return values, nil
}

// Metric reads the value of one series.
func (d *Daemon) Metric(ctx context.Context, name string) (float64, error) {
	all, err := d.Series(ctx)
	if err != nil {
		return 0, err
	}
	value, ok := all[name]
	if !ok {
		return 0, fmt.Errorf("there is no series %s", name)
	}
	return value, nil
}

func nameOf(metric model.Metric) string {
	var labels []string
	for name, value := range metric {
		if name != model.MetricNameLabel {
			labels = append(labels, fmt.Sprintf("%s=%q", name, string(value)))
		}
	}
	name := string(metric[model.MetricNameLabel])
	if len(labels) == 0 {
		return name
	}
	slices.Sort(labels)
	return name + "{" + strings.Join(labels, ",") + "}"
}

func ask(ctx context.Context, url string) (code int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}
