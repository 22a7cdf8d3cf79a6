package mirror

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/watch"
)

// TestNotReady cuts a replica off from everything that it watches. It stays ready for a
// while, because a restart of the API server must not disturb a rollout, but not for ever:
// it could not take over.
func TestNotReady(t *testing.T) {
	s := newAPIServer(t)
	clock := newFakeClock()
	c := newControllerOf(t, s, configured("", "", ""), clock)
	if err := c.Ready(); err != nil {
		t.Fatal(err)
	}
	s.watchesFail.Store(true)
	s.CloseClientConnections()
	degraded := func() bool {
		for _, w := range c.caches.Fixed() {
			if w.Status().State != watch.Degraded {
				return false
			}
		}
		return true
	}
	if !cache.WaitForCacheSync(t.Context().Done(), degraded) {
		t.Fatal("the watches have not failed")
	}
	clock.Step(gather.MaxDegraded)
	if err := c.Ready(); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	clock.Step(time.Second)
	if err := c.Ready(); err == nil || !strings.Contains(err.Error(), "has not been watched since 2") {
		t.Errorf("after it: %v", err)
	}
}

// TestReadyWithoutOne: a configured resource that cannot be listed holds up a start for a while, and not for ever.
func TestReadyWithoutOne(t *testing.T) {
	s, clock := newAPIServer(t), newFakeClock()
	s.reply("/apis/example.io/v1/widgets", apierrors.NewInternalError(errors.New("its conversion webhook does not answer")))
	c := newControllerOf(t, s, configured("", "v1", ""), clock)
	if err := c.Ready(); err == nil || !strings.Contains(err.Error(), "widgets.example.io has not synced") {
		t.Errorf("at first: %v", err)
	}
	clock.Step(gather.MaxDegraded + time.Second)
	if err := c.Ready(); err != nil {
		t.Errorf("later: %v", err)
	}
}

// TestDefinitionsAreShown: those on call learn when the watches of definitions fail.
func TestDefinitionsAreShown(t *testing.T) {
	c := newControllerOf(t, newAPIServer(t), configured("", "", ""), newFakeClock())
	for _, w := range c.caches.Definitions() {
		if !slices.ContainsFunc(c.snapshot().Watches, func(shown metrics.Watch) bool {
			return shown.Own && shown.Resource == w.Resource.GroupResource.String() && shown.State == string(watch.Ready)
		}) {
			t.Errorf("nothing shows the watch of %s", w.Resource.GroupResource)
		}
	}
}
