package mirror

import (
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/cache"

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
