// Package metrics holds the metrics that the daemon exports to Prometheus. It
// knows their names and shapes, but not where the numbers come from.
package metrics

import (
	"sync"
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
	statusUpdates  *prometheus.CounterVec
	reloadSuccess  prometheus.Gauge
	reloadedLastAt prometheus.Gauge
	// reloaded registers both: before the first verdict there is nothing to say.
	reloaded sync.Once
	leading  *prometheus.GaugeVec
	// configuration is the label of that name; see Configuration.
	configuration string
}

// Build identifies the program's version.
type Build struct {
	Version, Revision, GoVersion string
}

// New creates and registers the metrics; it panics if they are registered
// already.
func New(r prometheus.Registerer, b Build) *Metrics {
	m := &Metrics{
		registerer: r,
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "_work_operations_total", Help: "Writes of Works. The series of a cluster are deleted when it leaves.",
		}, []string{"operation", "result", "member_cluster"}),
		sync: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "_sync_duration_seconds", Help: "How long one sync of a source took. An error is retried; a refusal waits for a change.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
		}, []string{"result"}),
		propagation: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "_propagation_duration_seconds", Help: "Time from the arrival of a source's watch event until the last of its Works is written. The series of a resource are deleted when it leaves the configuration.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 12),
		}, []string{"resource"}),
		sweepRepairs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "_sweep_repairs_total", Help: "Sources for which a sweep found a change that no event had announced: 0 unless there is a defect.",
		}, []string{"resource"}),
		statusUpdates: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "_status_updates_total", Help: "Writes of the aggregated statuses of sources. The series of a resource are deleted when it leaves the configuration.",
		}, []string{"resource", "result"}),
		reloadSuccess: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "_config_last_reload_successful", Help: "Whether the last configuration was accepted (1) or rejected (0).",
		}),
		reloadedLastAt: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "_config_last_reload_success_timestamp_seconds", Help: "When a configuration was last accepted, in Unix time.",
		}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: prefix + "_build_info", Help: "The version of the program; always 1.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "go_version": b.GoVersion},
	})
	build.Set(1)
	m.leading = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: prefix + "_leading", Help: "Whether this replica writes Works (1), with leader election or without.",
	}, []string{"configuration"})
	r.MustRegister(build, m.operations, m.sync, m.propagation, m.sweepRepairs, m.statusUpdates, m.leading)
	return m
}

// Operation counts a write of a Work.
func (m *Metrics) Operation(operation, cluster string, err error) {
	m.operations.WithLabelValues(operation, resultOf(err), cluster).Inc()
}

// StatusUpdate counts a write of the status of a source.
func (m *Metrics) StatusUpdate(resource string, err error) {
	m.statusUpdates.WithLabelValues(resource, resultOf(err)).Inc()
}

func resultOf(err error) string {
	if err != nil {
		return "error"
	}
	return "success"
}

// KnowCluster creates the series of a cluster's writes, so that an increase from
// zero shows.
func (m *Metrics) KnowCluster(cluster string) {
	for _, operation := range []string{"create", "update", "delete"} {
		for _, result := range []string{"success", "error"} {
			m.operations.WithLabelValues(operation, result, cluster)
		}
	}
}

// ForgetCluster deletes the series of a cluster that has left.
func (m *Metrics) ForgetCluster(cluster string) {
	m.operations.DeletePartialMatch(prometheus.Labels{"member_cluster": cluster})
}

// ForgetResource deletes the series of a resource that has left the configuration.
func (m *Metrics) ForgetResource(resource string) {
	m.propagation.DeleteLabelValues(resource)
	m.sweepRepairs.DeleteLabelValues(resource)
	m.statusUpdates.DeletePartialMatch(prometheus.Labels{"resource": resource})
}

// Sync observes one sync of a source; result is success, error or refused.
func (m *Metrics) Sync(result string, took time.Duration) {
	m.sync.WithLabelValues(result).Observe(took.Seconds())
}

// Propagation observes how long a change of a source took to reach its Works.
func (m *Metrics) Propagation(resource string, took time.Duration) {
	m.propagation.WithLabelValues(resource).Observe(took.Seconds())
}

// KnowResource creates the series of a resource that must exist before anything happens,
// so that the first increase shows.
func (m *Metrics) KnowResource(resource string) { m.sweepRepairs.WithLabelValues(resource) }

// KnowStatuses does so for a resource whose statuses are aggregated.
func (m *Metrics) KnowStatuses(resource string) {
	for _, result := range []string{"success", "error"} {
		m.statusUpdates.WithLabelValues(resource, result)
	}
}

// SweepRepair counts a source that a sweep has found.
func (m *Metrics) SweepRepair(resource string) { m.sweepRepairs.WithLabelValues(resource).Inc() }

// ConfigReload records whether a configuration was accepted.
func (m *Metrics) ConfigReload(err error, now time.Time) {
	if err != nil {
		m.reloadSuccess.Set(0)
	} else {
		m.reloadSuccess.Set(1)
		m.reloadedLastAt.Set(float64(now.Unix()))
	}
	m.reloaded.Do(func() { m.registerer.MustRegister(m.reloadSuccess, m.reloadedLastAt) })
}

// LogLinesDropped registers the counter of the lines of the log that were dropped.
func (m *Metrics) LogLinesDropped(dropped func() int64) {
	m.registerer.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: prefix + "_log_lines_dropped_total", Help: "Lines of the log that were dropped because no one read standard error. The log never holds up the daemon.",
	}, func() float64 { return float64(dropped()) }))
}

// Configuration names the ConfigMap or file of this daemon, and must be called before all
// below. By the label configuration, alerts tell daemons apart that Prometheus scrapes as
// one job.
func (m *Metrics) Configuration(name string) {
	m.configuration = name
	m.Leading(false)
}

// Leading notes whether this replica writes Works.
func (m *Metrics) Leading(leading bool) {
	value := 0.0
	if leading {
		value = 1
	}
	m.leading.WithLabelValues(m.configuration).Set(value)
}

// LeaderPresent registers a gauge of whether a replica holds the Lease, as this
// one sees it.
func (m *Metrics) LeaderPresent(isPresent func() bool) {
	m.registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: prefix + "_leader_present", Help: "Whether some replica holds the Lease and renews it (1), as this replica sees it. Absent without leader election.",
		ConstLabels: prometheus.Labels{"configuration": m.configuration},
	}, func() float64 {
		if isPresent() {
			return 1
		}
		return 0
	}))
}

// Observe registers the gauges that are computed when they are scraped: a
// series ends with its subject.
func (m *Metrics) Observe(snapshot func() Snapshot) {
	m.registerer.MustRegister(collector{snapshot})
}
