package judge

import (
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// Recovery is when a member cluster came back. The zero value is a cluster that has been up
// for so long that nothing waits for it.
type Recovery struct {
	// At is when it became ready, and Down when it had stopped being ready; Down is zero if
	// no one saw that.
	At, Down time.Time
	// Seen is when it was seen to be ready, by the local clock; zero if it was not.
	Seen time.Time
	// In is how long to wait before waking anything.
	In time.Duration
}

// Awaits reports whether a Work waits for a cluster that has come back.
func (r Recovery) Awaits(w *state.Work) bool {
	written := w.Written()
	switch {
	case r.At.IsZero() || w.Foreign != "" || written.After(r.At):
		return false // Karmada has reconciled it since
	case w.Terminating || w.State == state.WorkFailed || w.State == state.WorkPending:
		return true
	}
	// If it was written during the outage, the condition predates that write.
	return w.State == state.WorkApplied && !r.Down.IsZero() && !written.Before(r.Down)
}

// stallsIn returns how long Karmada may still take to separate the Work on a cluster from its object before that has
// stalled; ok is false if it does not have to.
func (f Facts) stallsIn(cluster string) (in time.Duration, ok bool) {
	w := f.Works[cluster]
	if in, ok = f.Stalls[cluster]; !ok || !isOf(f, cluster) || w.Foreign != "" || !w.IsOrphaning() || f.Clusters[cluster].WriteUnderWay {
		return 0, false
	}
	return in, true
}
