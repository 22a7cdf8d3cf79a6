package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Snapshot is what the caches hold at one moment.
type Snapshot struct {
	Watches []Watch
	Works   map[WorkKey]int
	// Refused counts the refused sources by reason, and Denied those that the API server
	// refuses by what refuses them.
	Refused, Denied map[string]int
	// Held counts the Works whose deletion is held, by resource, and WaveHeld the sources with a
	// wave that has not come through in time.
	Held, WaveHeld map[string]int
	// Contested counts the sources that another writer contests, by reason.
	Contested map[string]int
	// Failing are the sources whose last sync failed, by queue.
	Failing map[string]Failing
}

// Failing are the sources in a queue whose last sync failed.
type Failing struct {
	Sources int
	// Since is when the first of them began to fail; zero if there is none.
	Since time.Time
}

// With adds others.
func (f Failing) With(others Failing) Failing {
	if f.Sources += others.Sources; f.Since.IsZero() || !others.Since.IsZero() && others.Since.Before(f.Since) {
		f.Since = others.Since
	}
	return f
}

// Watch is one watched resource, in the form deployments.apps.
type Watch struct {
	Resource string
	// State is one of states.
	State string
	// LastEvent is zero if none has arrived.
	LastEvent time.Time
	// Sources counts the objects that ask to be mirrored.
	Sources int
	// Own reports that the daemon needs the resource for itself and mirrors none of it.
	Own bool
}

// WorkKey is the key by which Works are counted.
type WorkKey struct {
	Cluster, State string
}

// states are the values of the label state of watch_state.
var states = []string{"pending", "syncing", "ready", "degraded"}

var (
	sources   = prometheus.NewDesc(prefix+"_sources", "Known objects that ask to be mirrored, by their own annotation or their Namespace's.", []string{"resource"}, nil)
	works     = prometheus.NewDesc(prefix+"_works", "Known Works, by member cluster and by how far Karmada has processed them.", []string{"member_cluster", "state"}, nil)
	refused   = prometheus.NewDesc(prefix+"_refused_sources", "Sources that are not mirrored, or not to every cluster, by reason.", []string{"reason"}, nil)
	denied    = prometheus.NewDesc(prefix+"_denied_sources", "Sources with a Work that the API server refuses to write or delete, by what refuses it.", []string{"by"}, nil)
	state     = prometheus.NewDesc(prefix+"_watch_state", "The state of each watch, of configured resources and of those that the daemon itself needs: 1 for the current state.", []string{"resource", "state"}, nil)
	held      = prometheus.NewDesc(prefix+"_deletions_held", "Works whose deletion waits for approval, marked or not.", []string{"resource"}, nil)
	waves     = prometheus.NewDesc(prefix+"_wave_held_sources", "Sources with a wave of clusters that has not come through by its deadline.", []string{"resource"}, nil)
	contested = prometheus.NewDesc(prefix+"_contested_sources", "Sources with a Work, an object in a member, or an aggregated status that another writer keeps changing, by reason. Only the leader reports it.", []string{"reason"}, nil)
	failing   = prometheus.NewDesc(prefix+"_failing_sources", "Sources whose last sync failed and is retried: that of their Works (mirror) or of their aggregated status (status), which may also lack a right. And objects whose finalizer may not be removed (finalizer). Only the leader reports it.", []string{"queue"}, nil)
	oldest    = prometheus.NewDesc(prefix+"_oldest_failure_timestamp_seconds", "Since when each sync of some failing source has failed, in Unix time. Absent if none fails.", []string{"queue"}, nil)
	last      = prometheus.NewDesc(prefix+"_watch_last_event_timestamp_seconds", "When the last event of the resource arrived, in Unix time.", []string{"resource"}, nil)
)

type collector struct {
	snapshot func() Snapshot
}

// Describe implements prometheus.Collector.
func (collector) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{sources, works, refused, denied, held, waves, contested, failing, oldest, state, last} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	s := c.snapshot()
	for _, w := range s.Watches {
		if !w.Own {
			gauge(sources, float64(w.Sources), w.Resource)
		}
		for _, name := range states {
			value := 0.0
			if name == w.State {
				value = 1
			}
			gauge(state, value, w.Resource, name)
		}
		if !w.LastEvent.IsZero() {
			gauge(last, float64(w.LastEvent.UnixNano())/float64(time.Second), w.Resource)
		}
	}
	for key, count := range s.Works {
		gauge(works, float64(count), key.Cluster, key.State)
	}
	for resource, count := range s.Held {
		gauge(held, float64(count), resource)
	}
	for resource, count := range s.WaveHeld {
		gauge(waves, float64(count), resource)
	}
	for reason, count := range s.Refused {
		gauge(refused, float64(count), reason)
	}
	for by, count := range s.Denied {
		gauge(denied, float64(count), by)
	}
	for reason, count := range s.Contested {
		gauge(contested, float64(count), reason)
	}
	for queue, of := range s.Failing {
		gauge(failing, float64(of.Sources), queue)
		if !of.Since.IsZero() {
			gauge(oldest, float64(of.Since.Unix()), queue)
		}
	}
}
