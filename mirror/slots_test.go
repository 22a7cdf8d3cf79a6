package mirror

import (
	"context"
	"errors"
	"testing"
)

func TestSlots(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := newSlots(1)
	ran := 0
	err := s.run(ctx, false, func() {
		// The slot of the others is taken.
		if err := s.run(ctx, true, func() { ran++ }); err != nil {
			t.Errorf("what is fresh waits for what is not: %v", err)
		}
		cause := errors.New("stopping")
		cancel(cause)
		if err := s.run(ctx, false, func() { ran++ }); !errors.Is(err, cause) {
			t.Errorf("got %v, want %v", err, cause)
		}
	})
	if err != nil || ran != 1 {
		t.Errorf("%d ran in a slot, want 1; %v", ran, err)
	}
	if err := s.run(t.Context(), false, func() { ran++ }); err != nil || ran != 2 {
		t.Errorf("a slot was not given back: %v", err)
	}
}
