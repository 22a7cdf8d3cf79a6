package mirror

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

const (
	// restorePeriod is how often we check whether the API server's data were restored, and
	// restoreTimeout how long a check may take.
	restorePeriod  = 5 * time.Second
	restoreTimeout = 5 * time.Second
)

// errRestored ends the process, because nothing that it remembers is reliable.
var errRestored = errors.New("the API server's data are older than what was read from it, as after etcd is restored from a backup: restart to read everything again")

// noticeRestore returns an error when the API server's resource version has gone back. A
// watch that is ahead of it stays silent until the versions have caught up, which can take
// days, and there is no other sign. It first reads the version when caches begin to fill.
func (c *Controller) noticeRestore(ctx context.Context) error {
	ticker := c.Clock.NewTicker(restorePeriod)
	defer ticker.Stop()
	for seen := ""; ; {
		newest, err := c.newest(ctx, seen)
		if err != nil {
			return err
		}
		seen = newest
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// newest returns the newest resource version that has been read of Works, seen or a newer one, or errRestored.
func (c *Controller) newest(ctx context.Context, seen string) (string, error) {
	if cached := c.caches.WorksVersion(); seen == "" || state.IsOlder(seen, cached) {
		seen = cached
	}
	reached := c.caches.Reached()
	ctx, cancel := context.WithTimeout(ctx, restoreTimeout)
	defer cancel()
	now, err := c.client.Version(ctx)
	if err != nil {
		return seen, nil
	}
	for resource, version := range reached {
		if state.IsOlder(now, version) && c.isRestored(ctx, resource, version) {
			seen = version
		}
	}
	if state.IsOlder(now, seen) {
		c.Logger.Error("the API server's data were restored", zap.String("seen", seen), zap.String("now", now))
		return "", errRestored
	}
	if events, isKnown := reached[state.EventsResource]; isKnown {
		c.caches.CompareEvents(ctx, events, now)
	}
	return now, nil
}

// isRestored reports whether the API server's version of a resource is older than that of its cache. Some resources are
// in another etcd than the Works, with other versions.
func (c *Controller) isRestored(ctx context.Context, resource schema.GroupVersionResource, cached string) bool {
	list, err := c.Dynamic.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
	return err == nil && state.IsOlder(list.GetResourceVersion(), cached)
}
