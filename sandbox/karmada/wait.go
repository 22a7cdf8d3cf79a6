package karmada

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// pollInterval is short compared with anything a component does and long
// compared with a request on the loopback interface.
const pollInterval = 100 * time.Millisecond

// Wait calls condition until it returns nil. Its errors say what is still
// missing; if ctx ends first, the returned error includes the last one. Wait
// also fails when a component ends unexpectedly, with the end of its log. what
// completes the sentence "cannot wait for …".
func (k *Karmada) Wait(ctx context.Context, what string, condition func(context.Context) error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var missing error
	for {
		if err := k.Err(); err != nil {
			return fmt.Errorf("cannot wait for %s: %w", what, err)
		}
		// An attempt that ctx cut short says less than the one before it.
		if err := condition(ctx); err == nil {
			return nil
		} else if missing == nil || ctx.Err() == nil {
			missing = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot wait for %s: %w: %w", what, context.Cause(ctx), missing)
		case <-ticker.C:
		}
	}
}

// Err is nil unless a component ended unexpectedly and was not restarted.
func (k *Karmada) Err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return errors.Join(slices.Collect(maps.Values(k.deaths))...)
}

func (k *Karmada) died(component string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.deaths[component] = err
}

func (k *Karmada) forgive(component string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.deaths, component)
}
