package karmada

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// pollInterval is short against anything a component does and long against one
// request on the loopback interface.
const pollInterval = 100 * time.Millisecond

// Wait asks condition again and again until it returns nil; its errors say
// what is still missing, and the last one is in the error when ctx ends first.
// It also fails when a component has ended without being asked to: see
// [ComponentError]. what completes the sentence "cannot wait for …".
func (k *Karmada) Wait(ctx context.Context, what string, condition func(context.Context) error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var missing error
	for {
		if err := k.Err(); err != nil {
			return fmt.Errorf("cannot wait for %s: %w", what, err)
		}
		// An attempt that ctx cut short says less than the one before.
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

// Err is nil as long as no component has ended without being asked to, or all
// that have were restarted.
func (k *Karmada) Err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all error
	for _, name := range slices.Sorted(maps.Keys(k.deaths)) {
		if all == nil {
			all = k.deaths[name]
			continue
		}
		all = fmt.Errorf("%w; %w", all, k.deaths[name])
	}
	return all
}

func (k *Karmada) died(err *ComponentError) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.deaths[err.Name] = err
}

func (k *Karmada) forgive(component string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.deaths, component)
}
