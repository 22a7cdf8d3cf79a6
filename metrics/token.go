package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	tokenIssued  = prometheus.NewDesc(prefix+"_token_issued_timestamp_seconds", "When the token for the Karmada API server was issued, in Unix time. Absent if it does not expire.", nil, nil)
	tokenExpires = prometheus.NewDesc(prefix+"_token_expiration_timestamp_seconds", "When the token for the Karmada API server expires, in Unix time. Absent if it does not expire.", nil, nil)
)

// tokenCollector reads the lifetime of the token when it is asked.
type tokenCollector struct {
	lifetime func() (issued, expires time.Time)
}

// Token registers the lifetime of the token; zero times if it does not expire.
func (m *Metrics) Token(lifetime func() (issued, expires time.Time)) {
	m.registerer.MustRegister(tokenCollector{lifetime})
}

// Describe implements prometheus.Collector.
func (tokenCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- tokenIssued
	ch <- tokenExpires
}

// Collect implements prometheus.Collector.
func (t tokenCollector) Collect(ch chan<- prometheus.Metric) {
	issued, expires := t.lifetime()
	if expires.IsZero() {
		return
	}
	ch <- prometheus.MustNewConstMetric(tokenIssued, prometheus.GaugeValue, float64(issued.Unix()))
	ch <- prometheus.MustNewConstMetric(tokenExpires, prometheus.GaugeValue, float64(expires.Unix()))
}
