package mirror

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

const (
	// restorePeriod is how often we check whether the API server's data were restored, and
	// restoreTimeout how long a check may take.
	restorePeriod  = 30 * time.Second
	restoreTimeout = 10 * time.Second
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
		if cached := c.caches.WorksVersion(); seen == "" || state.IsOlder(seen, cached) {
			seen = cached
		}
		reading, cancel := context.WithTimeout(ctx, restoreTimeout)
		now, err := c.client.Version(reading)
		cancel()
		switch {
		case err != nil:
		case state.IsOlder(now, seen):
			c.Logger.Error("the API server's data were restored", zap.String("seen", seen), zap.String("now", now))
			return errRestored
		default:
			seen = now
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}
