package judge

import (
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// Recovery is when a member cluster came back. The zero value is one that has been
// there for so long that nothing waits for it.
type Recovery struct {
	// At is when it became ready, and Down when it had ceased to be; that is zero if
	// nobody has seen it.
	At, Down time.Time
	// In is how long nothing is to be woken yet.
	In time.Duration
}

// Awaits reports whether a Work waits for a cluster that has come back.
func (r Recovery) Awaits(w *state.Work) bool {
	written := w.Written()
	switch {
	case r.At.IsZero() || w.Foreign != "" || written.After(r.At):
		return false // it has been looked at since
	case w.Terminating || w.State == state.WorkFailed || w.State == state.WorkPending:
		return true
	}
	// It is as it was applied before, whatever was written since.
	return w.State == state.WorkApplied && !r.Down.IsZero() && !written.Before(r.Down)
}
