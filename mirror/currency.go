package mirror

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
)

const (
	// configurationAge is how old the answer may be that the configuration in force is the newest.
	configurationAge = time.Second
	// configurationDeadline is how long the answer may take.
	configurationDeadline = 5 * time.Second
)

// currency tells whether the configuration in force is the newest: a stale one could allow what
// no longer is allowed, or include what has left it.
type currency struct {
	clock clock.Clock
	// versions is Options.ConfigurationVersions.
	versions func(context.Context) (taken, live string, err error)

	// turn is full while a check is under way: those that wait for it give up with their contexts.
	turn chan struct{}
	// last is the answer to the last check, which began at that time.
	last  error
	began time.Time
}

func newCurrency(c clock.Clock, versions func(context.Context) (taken, live string, err error)) *currency {
	return &currency{clock: c, versions: versions, turn: make(chan struct{}, 1)}
}

// check returns gather.ErrBehind if the configuration in force is not what a live read returns.
func (c *currency) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, configurationDeadline)
	defer cancel()
	taken, live, err := c.versions(ctx)
	if err == nil && taken != live {
		return fmt.Errorf("the configuration has changed: %w", gather.ErrBehind)
	}
	return err
}

// confirm is check, by a live read that began at most configurationAge before. Those that wait
// for the same read share its answer.
func (c *currency) confirm(ctx context.Context) error {
	asked := c.clock.Now()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if asked.Sub(c.began) > configurationAge {
		c.began = c.clock.Now()
		c.last = c.check(ctx)
	}
	return c.last
}
