package mirror

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/queue"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestSweep: a sweep finds changes that no event reported, and nothing that is handled anyway.
func TestSweep(t *testing.T) {
	asks := sample.Asking("1", "m1")
	object := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1"})
	inherits := func(s *apiServer) {
		s.list(configMaps, sample.Object(nil))
		s.list(state.NamespacesResource, sample.Namespace(sample.Annotations{render.ClustersAnnotation: "m1"}))
	}
	reconcile := func(c *Controller, _ *queue.Queue) {
		if _, err := c.reconcile(context.Background(), sample.Page, write.Others); err != nil {
			t.Error(err)
		}
	}
	cases := map[string]struct {
		reason string
		state  func(*apiServer)
		before func(*Controller, *queue.Queue)
		during func(*Controller, *queue.Queue)
		found  bool
	}{
		"Missing": {reason: "a Work that was never created", state: func(s *apiServer) { s.list(configMaps, object) }, found: true},
		"AsWanted": {reason: "all is as wanted",
			state: func(s *apiServer) { s.list(configMaps, object); s.list(render.WorksResource, sample.Work(asks, "m1")) }},
		"Orphan": {reason: "an unwanted Work", state: func(s *apiServer) { s.list(render.WorksResource, sample.Work(asks, "m1")) }, found: true},
		"Held":   {reason: "one that waits for an approval", state: func(s *apiServer) { s.list(render.WorksResource, sample.Work(asks, "m1", sample.Marked)) }},
		"Unread": {reason: "an object whose Namespace has a default", state: inherits, found: true},
		"Queued": {reason: "a queued source is synced anyway", state: func(s *apiServer) { s.list(configMaps, object) },
			before: func(_ *Controller, q *queue.Queue) { q.Add(sample.Page) }},
		"Expected": {reason: "and so is one that is scheduled for later", state: func(s *apiServer) { s.list(configMaps, object) },
			before: func(_ *Controller, q *queue.Queue) { q.AddAfter(sample.Page, time.Hour) }},
		"UnderWay": {reason: "a source that is being synced", state: func(s *apiServer) { s.list(configMaps, object) },
			before: func(_ *Controller, q *queue.Queue) { q.Add(sample.Page); q.Get() }},
		"Written": {reason: "a write that the watch has not shown yet", state: func(s *apiServer) { s.list(configMaps, object) },
			before: reconcile},
		"Refused": {reason: "a write that would be refused again",
			state: func(s *apiServer) {
				s.list(configMaps, object)
				s.reply("POST /apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works", apierrors.NewRequestEntityTooLargeError("no"))
			},
			before: reconcile},
		"Told": {reason: "the event was only late", state: func(s *apiServer) { s.list(configMaps, object) },
			during: reconcile},
		"BehindTheFence": {reason: "for what a new leader's cache has not seen yet, there will be an event", state: func(s *apiServer) { s.list(configMaps, object) },
			before: func(c *Controller, _ *queue.Queue) { c.fence.Store(new("200")) }},
		"Stranger": {reason: "another's Work that lacks our label, and is to be read again in a moment", state: func(s *apiServer) { s.list(configMaps, object) },
			before: func(c *Controller, _ *queue.Queue) { meetStranger(c) }},
		"StrangerLeft": {reason: "the same, if it is not read again", state: func(s *apiServer) { s.list(configMaps, object) },
			before: func(c *Controller, _ *queue.Queue) { meetStranger(c); c.memory.Overdue() }, found: true},
		"Stopping": {reason: "a replica that stops leading leaves what it has not synced to the next leader", state: func(s *apiServer) { s.list(configMaps, object) },
			before: func(_ *Controller, q *queue.Queue) { q.Add(sample.Page); q.ShutDown(); q.Get(); q.Done(sample.Page) }},
		"Unwatched": {reason: "a source that cannot be judged is not reported",
			state: func(s *apiServer) {
				s.list(render.WorksResource, sample.Work(asks, "m1"))
				s.reply("/api/v1/configmaps", apierrors.NewServiceUnavailable("boom"))
			}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newAPIServer(t)
			tc.state(s)
			clock := newFakeClock()
			c := newControllerOf(t, s, configured("", "", ""), clock)
			core, reports := observer.New(zap.ErrorLevel)
			c.Logger = zap.New(core)
			q := leading(t, c)
			if tc.before != nil {
				tc.before(c, q)
			}
			ended := make(chan bool)
			go func() { defer close(ended); c.sweepOnce(t.Context(), q) }()
			for under := true; under; {
				select {
				case <-ended:
					under = false
				case <-time.After(time.Millisecond):
					if !clock.HasWaiters() {
						continue // it is still looking: no time may pass meanwhile
					}
					if tc.during != nil {
						tc.during(c, q)
					}
					clock.Step(sweepGrace)
				}
			}
			var want []string
			if tc.found || name == "Queued" {
				want = []string{"ConfigMap/shop/page"}
			}
			if diff := cmp.Diff(want, waiting(q)); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
			if isReported := reports.Len() > 0; isReported != tc.found {
				t.Errorf("%s: %v", tc.reason, reports.All())
			}
		})
	}
}

// meetStranger lets a create find another's Work, a while ago.
func meetStranger(c *Controller) {
	c.memory.Meet(sample.Page, "m1", state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1")))
	c.Clock.(interface{ Step(time.Duration) }).Step(memory.AwaitCache)
}

// TestSweepPeriod: sweeps come once a period, jittered, or never.
func TestSweepPeriod(t *testing.T) {
	for _, period := range []time.Duration{time.Minute, 0} {
		s := newAPIServer(t)
		s.list(configMaps, sample.Asking("1", "m1"))
		clock := newFakeClock()
		registry := prometheus.NewRegistry()
		c := newControllerOf(t, s, configured("", "", ""), clock)
		c.Metrics = metrics.New(registry, metrics.Build{})
		c.ResyncPeriod = period
		q := leading(t, c)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan bool)
		go func() { defer close(ended); c.sweep(ctx, q) }()
		if period == 0 {
			<-ended // there is nothing to wait for
			cancel()
			continue
		}
		waits := func() bool { return clock.HasWaiters() }
		if !cache.WaitForCacheSync(ctx.Done(), waits) {
			t.Fatal("it waits for nothing")
		}
		clock.Step(period - 1)
		if q.Len() > 0 || !waits() {
			t.Error("it sweeps before the period is over")
		}
		for q.Len() == 0 && !t.Failed() {
			clock.Step(period) // the jitter, and the grace of the events
			time.Sleep(time.Millisecond)
		}
		if n, err := testutil.GatherAndCount(registry, "karmada_mirror_sweep_repairs_total"); err != nil || n == 0 {
			t.Errorf("the repair is not counted: %d, %v", n, err)
		}
		cancel()
		<-ended
	}
}
