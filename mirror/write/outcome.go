package write

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
)

// lookAgain is when to sync a source again with what has just been found.
const lookAgain = time.Millisecond

// Outcome sums up the results of carrying out a plan.
type Outcome struct {
	mu sync.Mutex
	// Wrote: a Work has new content.
	Wrote bool
	// Undone: admission has left a Work as it was before a write, or a Work is known from now on not to stay as
	// written. No event shows that.
	Undone bool
	// Settling: a deletion waits for the settle period.
	Settling bool
	// Deleted are the clusters whose Work was deleted, and Missing those where it could not
	// be created.
	Deleted, Missing []string
	// Refusals say why operations have not been carried out, and will not be as things are.
	Refusals []judge.Refusal
	// Retry is when to sync again even without an event; 0 is never.
	Retry time.Duration
	errs  []error
}

// Fail notes a failure.
func (o *Outcome) Fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.errs = append(o.errs, err)
}

// Err joins the failures in a fixed order.
func (o *Outcome) Err() error {
	slices.SortFunc(o.errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(o.errs...)
}

// RetryAfter requests another sync of the source after at most d; 0 requests none.
func (o *Outcome) RetryAfter(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Retry = judge.Sooner(o.Retry, d)
}

// LookAgain requests another sync of the source at once.
func (o *Outcome) LookAgain() { o.RetryAfter(lookAgain) }

// Settle is RetryAfter for a deletion that waits d for others; 0 if none does.
func (o *Outcome) Settle(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Settling = o.Settling || d > 0
	o.Retry = judge.Sooner(o.Retry, d)
}

func (o *Outcome) noteUndone() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Undone = true
}

// hold is RetryAfter for an operation that is not carried out now. It notes why, if a user
// or an administrator can fix that.
func (o *Outcome) hold(retry time.Duration, why *judge.Refusal) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Retry = judge.Sooner(o.Retry, retry)
	if why != nil {
		o.Refusals = append(o.Refusals, *why)
	}
}

// Await notes clusters where no Work can be created yet. That is a failure, so that those on call
// learn of it if it lasts.
func (o *Outcome) Await(clusters []string) {
	if len(clusters) > 0 {
		o.Missing = append(o.Missing, clusters...)
		o.Fail(fmt.Errorf("%d clusters have no execution namespace yet, such as %q", len(clusters), clusters[0]))
	}
}

// miss notes that an operation has not been carried out.
func (o *Outcome) miss(op judge.Operation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if op.Kind == judge.Create {
		o.Missing = append(o.Missing, op.Cluster)
	}
}

// note notes that an operation has been carried out, and whether admission has undone it.
func (o *Outcome) note(op judge.Operation, isUndone bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if isUndone {
		o.Undone = true
		o.Retry = judge.Sooner(o.Retry, lookAgain)
	}
	o.Wrote = o.Wrote || op.Kind.WritesContent()
	if op.Kind == judge.Delete && !op.Replaces {
		o.Deleted = append(o.Deleted, op.Cluster)
	}
}
