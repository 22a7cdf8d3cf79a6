package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// scrape reads the series of a component, by name and labels as it writes them.
func scrape(ctx context.Context, url string) (map[string]float64, error) {
	body, err := get(ctx, url)
	if err != nil {
		return nil, err
	}
	return parseSeries(body)
}

// parseSeries reads Prometheus' text format as client_golang writes it: a series is a
// line, without a time.
func parseSeries(text string) (map[string]float64, error) {
	series := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		end := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[end+1:], 64)
		if end < 0 || err != nil {
			return nil, fmt.Errorf("cannot read the series %q", line)
		}
		series[line[:end]] = value
	}
	return series, nil
}

func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, response.Status)
	}
	return string(body), err
}
