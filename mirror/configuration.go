package mirror

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// configurationAge is how old the answer may be that the configuration in force is the newest.
const configurationAge = time.Second

// currency tells whether the configuration in force is the newest: a stale one could allow what
// no longer is allowed, or include what has left it.
type currency struct {
	clock clock.Clock
	// versions is Options.ConfigurationVersions.
	versions func(context.Context) (taken, live string, err error)

	mu sync.Mutex
	// confirmed is when it was last known to be the newest.
	confirmed time.Time
}

// check returns gather.ErrBehind if the configuration in force is stale, by a live read.
func (c *currency) check(ctx context.Context) error {
	taken, live, err := c.versions(ctx)
	if err == nil && (taken == "" && live != "" || state.IsOlder(taken, live)) {
		return fmt.Errorf("the configuration has changed: %w", gather.ErrBehind)
	}
	return err
}

// confirm is check, by a live read that is at most configurationAge old.
func (c *currency) confirm(ctx context.Context) error {
	c.mu.Lock() // all that wait for the same read use its answer
	defer c.mu.Unlock()
	now := c.clock.Now()
	if now.Sub(c.confirmed) <= configurationAge {
		return nil
	}
	err := c.check(ctx)
	if err == nil {
		c.confirmed = now
	}
	return err
}
