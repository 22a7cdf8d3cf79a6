// Package metrics is what the daemon tells Prometheus of itself. It knows the
// names and shapes of the metrics, and not where the numbers come from.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const prefix = "karmada_mirror"

// Metrics are the daemon's own metrics.
type Metrics struct {
	registerer     prometheus.Registerer
	operations     *prometheus.CounterVec
	sync           *prometheus.HistogramVec
	propagation    *prometheus.HistogramVec
	sweepRepairs   *prometheus.CounterVec
	reloadSuccess  prometheus.Gauge
	reloadedLastAt prometheus.Gauge
}

// Build says which program this is.
type Build struct {
	Version, Revision, GoVersion string
}

// New makes the metrics and registers them; it panics if they are registered
// already.
func New(r prometheus.Registerer, b Build) *Metrics {
	m := &Metrics{
		registerer: r,
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "_work_operations_total", Help: "Writes of Works. Series of a cluster go when it leaves.",
		}, []string{"operation", "result", "member_cluster"}),
		sync: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "_sync_duration_seconds", Help: "How long one sync of a source took. An error is tried again; a refusal waits for a change.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
		}, []string{"result"}),
		propagation: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "_propagation_duration_seconds", Help: "From the arrival of a source's watch event to the last of its Works written. Series of a resource go when it leaves the configuration.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 12),
		}, []string{"resource"}),
		sweepRepairs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "_sweep_repairs_total", Help: "Sources of which a sweep has found what no event had told: 0 unless there is a defect.",
		}, []string{"resource"}),
		reloadSuccess: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "_config_last_reload_successful", Help: "Whether the last configuration was accepted (1) or rejected (0).",
		}),
		reloadedLastAt: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "_config_last_reload_success_timestamp_seconds", Help: "When a configuration was accepted last, in Unix time.",
		}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: prefix + "_build_info", Help: "Which program this is; always 1.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "go_version": b.GoVersion},
	})
	build.Set(1)
	r.MustRegister(build, m.operations, m.sync, m.propagation, m.sweepRepairs, m.reloadSuccess, m.reloadedLastAt)
	return m
}

// Operation counts a write of a Work.
func (m *Metrics) Operation(operation, cluster string, err error) {
	result := "success"
	if err != nil {
		result = "error"
	}
	m.operations.WithLabelValues(operation, result, cluster).Inc()
}

// ForgetCluster deletes the series of a cluster that has left.
func (m *Metrics) ForgetCluster(cluster string) {
	m.operations.DeletePartialMatch(prometheus.Labels{"member_cluster": cluster})
}

// ForgetResource deletes the series of a resource that has left the configuration.
func (m *Metrics) ForgetResource(resource string) {
	m.propagation.DeleteLabelValues(resource)
	m.sweepRepairs.DeleteLabelValues(resource)
}

// Sync observes one sync of a source; result is success, error or refused.
func (m *Metrics) Sync(result string, took time.Duration) {
	m.sync.WithLabelValues(result).Observe(took.Seconds())
}

// Propagation observes how long a change of a source took to reach its Works.
func (m *Metrics) Propagation(resource string, took time.Duration) {
	m.propagation.WithLabelValues(resource).Observe(took.Seconds())
}

// KnowResource makes the series of a resource that are to be there before anything has
// happened, so that the first time shows.
func (m *Metrics) KnowResource(resource string) { m.sweepRepairs.WithLabelValues(resource) }

// SweepRepair counts what a sweep has found.
func (m *Metrics) SweepRepair(resource string) { m.sweepRepairs.WithLabelValues(resource).Inc() }

// ConfigReload notes whether a configuration was accepted.
func (m *Metrics) ConfigReload(err error, now time.Time) {
	if err != nil {
		m.reloadSuccess.Set(0)
		return
	}
	m.reloadSuccess.Set(1)
	m.reloadedLastAt.Set(float64(now.Unix()))
}

// Observe registers the gauges that are counted when they are asked for: a
// series goes when its subject goes.
func (m *Metrics) Observe(snapshot func() Snapshot) {
	m.registerer.MustRegister(collector{snapshot})
}
