package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestRecallHeld: what was held stays held before the first Work with the mark is synced: by a new
// leader, and by one whose caches were incomplete for a while.
func TestRecallHeld(t *testing.T) {
	for name, recall := range map[string]func(*Controller){
		"NewLeader": (*Controller).enqueueEverything,
		"ListedAgain": func(c *Controller) {
			c.enqueueEverything()
			for i := range 3 {
				id := sample.Page
				id.Name = fmt.Sprint("held-", i)
				c.breaker.Propose("configmaps", id, nil, nil)
			}
			c.resourceListed(c.caches.Sources()[0])
		},
	} {
		t.Run(name, func(t *testing.T) { testRecallHeld(t, recall) })
	}
}

func testRecallHeld(t *testing.T, recall func(*Controller)) {
	for _, whole := range []bool{true, false} {
		s := newAPIServer(t)
		mark := func(u *unstructured.Unstructured) {
			hold := render.Hold{Since: sample.Created, Resource: "configmaps", Because: "the source does not exist", Whole: whole}
			sample.SetLabel(u, render.HeldKey, "true")
			sample.Annotate(u, render.HeldKey, hold.String())
		}
		orphan := func(name, cluster string, changes ...sample.Change) *unstructured.Unstructured {
			source := sample.Asking("1", cluster)
			source.SetName(name)
			return sample.Work(source, cluster, changes...)
		}
		works := []*unstructured.Unstructured{orphan("late", "m2")}
		for i := range 3 {
			works = append(works, orphan(fmt.Sprint("held-", i), "m1", mark))
		}
		s.list(render.WorksResource, works...)
		c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
		leading(t, c)
		recall(c)
		late := sample.Page
		late.Name = "late"
		if _, err := c.reconcile(t.Context(), late, write.Others); err != nil {
			t.Fatal(err)
		}
		if sent := s.sent(); len(sent) != 1 || !strings.HasPrefix(sent[0], "hold m2") {
			t.Errorf("whole %v: sent %q", whole, sent)
		}
	}
}

// TestRecallForged: a mark that names another resource holds nothing of that.
func TestRecallForged(t *testing.T) {
	s := newAPIServer(t)
	s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"), sample.Work(gadgetObject("m2"), "m2", func(u *unstructured.Unstructured) {
		sample.SetLabel(u, render.HeldKey, "true")
		sample.Annotate(u, render.HeldKey, render.Hold{Since: sample.Created, Resource: "configmaps", Because: "x", Whole: true}.String())
	}))
	c := newControllerOf(t, s, configured("", "v1", ""), newFakeClock())
	leading(t, c)
	c.enqueueEverything()
	if _, err := c.reconcile(t.Context(), sample.Page, write.Others); err != nil {
		t.Fatal(err)
	}
	if sent := s.sent(); !slices.Equal(sent, []string{"delete m1 if it is work-uid at 7"}) {
		t.Errorf("sent %q", sent)
	}
}

// TestHeldOfOthers: deletions that another daemon holds do not count for this one.
func TestHeldOfOthers(t *testing.T) {
	for namespaces, want := range map[string]int{"": 1, `"shop"`: 1, `"other"`: 0} {
		s := newAPIServer(t)
		s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1", sample.Marked))
		c := newControllerOf(t, s, configured(namespaces, "", ""), newFakeClock())
		if got := c.snapshot().Held["configmaps"]; got != want {
			t.Errorf("with the namespaces [%s], %d are held", namespaces, got)
		}
	}
}

// TestLongWorkLosesItsLabel: we look for a Work with the longer name before we create one with
// Karmada's name, because the API server would accept both.
func TestLongWorkLosesItsLabel(t *testing.T) {
	s := newAPIServer(t)
	s.list(configMaps, sample.Asking("1", "m1"))
	long := sample.Work(sample.Asking("1", "m1"), "m1", sample.Long)
	unlabelled := sample.Work(sample.Asking("1", "m1"), "m1", sample.Long, sample.Relabelled)
	s.list(render.WorksResource, unlabelled)
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	c.workChanged(state.NewWork(long), nil)
	for range 2 {
		if _, err := c.reconcile(t.Context(), sample.Page, write.Others); err != nil {
			t.Fatal(err)
		}
	}
	if sent := s.sent(); !slices.Equal(sent, []string{"update m1 at 7"}) {
		t.Errorf("sent %q", sent)
	}
}

// TestLeadsWithTheLastConfiguration: it does not lead before.
func TestLeadsWithTheLastConfiguration(t *testing.T) {
	s := newAPIServer(t)
	clock := newFakeClock()
	c := newControllerOf(t, s, configured("", "", ""), clock)
	asked := 0
	c.currency.versions = func(context.Context) (taken, live string, err error) {
		if asked++; asked < 3 {
			return "9", "10", nil
		}
		return "10", "10", nil
	}
	leads := make(chan bool, 1)
	go func() { leads <- c.awaitCaches(t.Context(), nil) }()
	for {
		select {
		case <-leads:
			if asked != 3 {
				t.Errorf("it leads after %d looks", asked)
			}
			return
		case <-time.After(time.Millisecond):
			clock.Step(maxCachePause)
		}
	}
}

// TestHungSync: a sync that takes too long is interrupted. If that does not end it, leading ends, although it
// runs on.
func TestHungSync(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		took   time.Duration // 0: until it is interrupted
		want   error
	}{
		"Interrupted": {"a request without an answer ends when it is interrupted", 0, nil},
		"Slow":        {"it ends late, but it ends", hungTimeout - time.Second, nil},
		"Hung":        {"it waits for something that does not end", time.Hour, ErrHung},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &Controller{Options: Options{Clock: clock.RealClock{}, Logger: zap.NewNop()}, failed: make(chan error, 1), memory: memory.New(clock.RealClock{})}
				c.caches = idleCaches(c)
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
				defer cancel()
				began, takes := time.Now(), time.After(tc.took)
				go func() {
					syncing, end := c.limit(ctx)
					defer end()
					<-syncing.Done()
					if took := time.Since(began); took != syncTimeout {
						t.Errorf("it was interrupted after %s", took)
					}
					<-takes
				}()
				if err := c.Lead(ctx, nil); !errors.Is(err, tc.want) || (err != nil) != (time.Since(began) == hungTimeout) {
					t.Errorf("%s: Lead has ended after %s with %v", tc.reason, time.Since(began), err)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// TestStaleForGood: a cache that does not become that of the API server ends leading.
func TestStaleForGood(t *testing.T) {
	older := sample.Cluster("m1", "")
	older.SetResourceVersion("3")
	for name, tc := range map[string]struct {
		reason string
		live   []*unstructured.Unstructured
		fails  int // each check of so many
	}{
		"Missed":      {"its watch has missed something", []*unstructured.Unstructured{sample.Cluster("m1", ""), sample.Cluster("m3", "")}, 0},
		"Ahead":       {"it is from before etcd was restored, and other writes have overtaken it", []*unstructured.Unstructured{older, sample.Cluster("m2", "edge")}, 0},
		"CheckFailed": {"a check that fails now and then proves nothing", []*unstructured.Unstructured{sample.Cluster("m1", "")}, 60},
	} {
		t.Run(name, func(t *testing.T) {
			s, clock := newAPIServer(t), newFakeClock()
			c := newControllerOf(t, s, configured("", "", ""), clock)
			s.list(state.ClustersResource, tc.live...)
			checks := 0
			c.currency.versions = func(context.Context) (taken, live string, err error) {
				if checks++; tc.fails > 0 && checks%tc.fails == 0 {
					err = errors.New("429")
				}
				return "", "", err
			}
			began, ended := clock.Now(), make(chan error, 1)
			go func() { ended <- c.Lead(t.Context(), nil) }()
			for clock.Since(began) < time.Hour {
				select {
				case err := <-ended:
					if !errors.Is(err, ErrStale) || clock.Since(began) < gather.MaxDegraded {
						t.Errorf("%v, after %s", err, clock.Since(began))
					}
					return
				case <-time.After(time.Millisecond):
					clock.Step(time.Second)
				}
			}
			t.Errorf("%s: it leads, or is about to, after %s", tc.reason, clock.Since(began))
		})
	}
}

// TestHoldsUnmarkedUntilItLeads: a replica that ends before it leads knows no more than the last leader, which could not mark all
// that it held.
func TestHoldsUnmarkedUntilItLeads(t *testing.T) {
	s, clock := newAPIServer(t), newFakeClock()
	s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"))
	c := newControllerOf(t, s, configured("", "", ""), clock)
	c.hasPassed.Store(false)
	if c.HoldsUnmarked() {
		t.Error("the last leader has marked all")
	}
	c.Suspect()
	if !c.HoldsUnmarked() {
		t.Error("the next leader does not learn that the last one could not mark all")
	}
	if c.hasPassed.Store(true); !c.HoldsUnmarked() {
		t.Error("nor where no source has been judged, although it leads")
	}
	if clock.Step(time.Hour); c.HoldsUnmarked() {
		t.Error("what cannot be judged is suspicious for ever")
	}
}
