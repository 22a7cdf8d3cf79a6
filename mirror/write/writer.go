package write

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// preparedPeriod is when to look again at a Work that was prepared for its deletion, if the watch does not show it before.
const preparedPeriod = time.Second

// Options configure a Writer; all are required.
type Options struct {
	Client  Client
	Memory  *memory.Memory
	Breaker *Breaker
	Caches  Caches
	Reports Reports
	// InFlight is how many writes of each Share may be in flight.
	InFlight int
}

// Caches provide the current state, as far as it is known.
type Caches interface {
	// WorkAt returns the Work of that name for a cluster, whatever its owner, as far as it
	// is known.
	WorkAt(id render.Identity, cluster, name string) (*state.Work, bool)
	// CountWorks counts the Works of a kind that the breaker's percentage refers to, by the
	// namespace of their sources.
	CountWorks(kind schema.GroupKind) map[string]int
	// CountWorksOnClusters counts those of all kinds, by cluster.
	CountWorksOnClusters() map[string]int
	// WorksVersion is the resource version that the cache of Works has reached.
	WorksVersion() string
	// ResourceOf returns the resource of a source.
	ResourceOf(id render.Identity) string
}

// Reports receives what the Writer does, and what it does not do.
type Reports interface {
	// Tried reports a request for an operation on the Work of that name, which has failed if
	// err is not nil.
	Tried(id render.Identity, op judge.Operation, work string, err error)
	// Noticed reports that a Work does not stay as written, and why.
	Noticed(id render.Identity, cluster, notice string)
}

// Writer carries out operations.
type Writer struct {
	Options
	slots slots
}

// NewWriter creates a Writer.
func NewWriter(o Options) *Writer { return &Writer{o, newSlots(o.InFlight)} }

// Each calls do for operations on several clusters in parallel, as slots permit. A failed
// operation does not hold up the others.
func (w *Writer) Each(ctx context.Context, operations []judge.Operation, share Share, o *Outcome, do func(judge.Operation)) {
	var inFlight errgroup.Group
	inFlight.SetLimit(w.InFlight)
	for _, op := range operations {
		inFlight.Go(func() (err error) {
			defer state.Catch(&err)
			return w.slots.run(ctx, share, func() { do(op) })
		})
	}
	if err := inFlight.Wait(); err != nil { // interrupted, or a panic; other failures are in the outcome
		o.Fail(err)
	}
}

// Share is a part of the slots, which the writes of some syncs have for themselves.
type Share int

// The shares, by what is synced.
const (
	Others Share = iota
	Fresh        // sources that a user has just changed
	Slow         // sources whose requests have no answer, probably
)

// slots bound the writes in flight, by Share. A write waits for all that the API server has begun
// before it, and more writes in parallel are not done sooner when it is busy. So the writes of a share
// never wait behind more of another than that has slots.
type slots [Slow + 1]*semaphore.Weighted

func newSlots(each int) (s slots) {
	for i := range s {
		s[i] = semaphore.NewWeighted(int64(each))
	}
	return s
}

// run calls do in a slot. It returns the cause of ctx if ctx is done first.
func (s slots) run(ctx context.Context, share Share, do func()) error {
	if err := s[share].Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer s[share].Release(1)
	do()
	return nil
}

// CarryOut carries out one operation, unless it is outdated, the breaker holds it or the
// memory knows how it would end.
func (w *Writer) CarryOut(ctx context.Context, v judge.Verdict, op judge.Operation, o *Outcome) {
	if w.isOutdated(v, op) {
		o.LookAgain()
		return
	}
	approved := false
	if op.Kind == judge.Delete {
		a := w.admitDeletion(v, op, o)
		if a.wait > 0 || a.held && a.marked { // it must settle, or is marked already
			return
		}
		if approved = a.approved; a.held {
			op.Kind = judge.Hold
		}
	}
	held, ok := w.Memory.Check(v, op)
	if ok && op.Kind == judge.Update && v.Targets[op.Cluster].IsToWake() && held.Notice == "" {
		op.Kind, op.Because = judge.Wake, judge.BecauseWake // what cannot be as wanted is applied all the same
		held, ok = w.Memory.Check(v, op)
	}
	if !ok && op.Unconfirmed && op.Kind != judge.Wake { // it is no longer held
		o.LookAgain()
		return
	}
	if ok {
		if held.Notice != "" {
			w.Reports.Noticed(v.ID, op.Cluster, held.Notice)
			w.Memory.Reported(v.ID, op.Cluster, held.Notice)
			o.noteUndone()
		}
		o.hold(held.Retry, held.Refusal)
		o.miss(op)
		return
	}
	answer, inTheWay, err := w.write(ctx, v, op, approved)
	if inTheWay != nil {
		o.LookAgain()
		return
	}
	if errors.Is(err, ErrPrepared) { // that is an event, unless admission undoes it
		w.Memory.Repeat(v, op)
		o.RetryAfter(preparedPeriod)
		return
	}
	w.Reports.Tried(v.ID, op, op.WorkName(v), err)
	if err != nil {
		w.noteFailure(v, op, err, o)
		return
	}
	o.note(op, op.Work != nil && answer.Version == op.Work.ResourceVersion)
}

// Stays reports whether a deletion is not carried out now, whatever a proof of it would say, and notes why: it is held and
// marked, or would be refused again.
func (w *Writer) Stays(v judge.Verdict, deletion judge.Operation, o *Outcome) bool {
	resource := w.Caches.ResourceOf(v.ID)
	if a, is := w.Breaker.stays(resource, v.ID, deletion.Work); is {
		o.hold(0, a.refusal(resource, deletion.Cluster))
		return true
	}
	held, ok := w.Memory.Check(v, deletion)
	if ok {
		o.hold(held.Retry, held.Refusal)
	}
	return ok
}

// isOutdated reports whether a Work has changed since the operation was planned: it may
// have waited for a slot.
func (w *Writer) isOutdated(v judge.Verdict, op judge.Operation) bool {
	now, _ := w.Caches.WorkAt(v.ID, op.Cluster, op.WorkName(v))
	return now != op.Work
}

// admitDeletion asks the breaker to admit a deletion, and notes what follows from its
// answer.
func (w *Writer) admitDeletion(v judge.Verdict, op judge.Operation, o *Outcome) admission {
	resource := w.Caches.ResourceOf(v.ID)
	a := w.Breaker.admit(resource, v.ID, op.Work, v.NeedsApproval, counts{
		func() map[string]int { return w.Caches.CountWorks(v.ID.GroupKind()) }, w.Caches.CountWorksOnClusters,
	})
	o.Settle(a.wait)
	if a.held {
		o.hold(0, a.refusal(resource, op.Cluster))
	}
	return a
}

// noteFailure notes when to retry a failed operation. One that was denied is parked: a deletion
// is proved again when it is retried.
func (w *Writer) noteFailure(v judge.Verdict, op judge.Operation, err error, o *Outcome) {
	o.miss(op)
	refusal, permanent := permanentRefusal(err, op)
	if !permanent {
		o.Fail(fmt.Errorf("cannot %s the Work for cluster %q: %w", op.Kind, op.Cluster, err))
		return
	}
	retry, isKnown := w.Memory.Park(v, op, refusal)
	if !isKnown {
		o.RetryAfter(retry)
		return
	}
	o.hold(retry, &refusal)
}

// write carries out an operation and keeps the books. If there is a Work where one was to be
// created, it writes nothing and returns that Work. approved: it is a deletion that the
// breaker had held, and that has been approved.
func (w *Writer) write(ctx context.Context, v judge.Verdict, op judge.Operation, approved bool) (answer memory.Receipt, inTheWay *state.Work, err error) {
	// Read a Work that was in the way first, so that the create is not refused again.
	name := op.WorkName(v)
	for _, suspected := range []string{name, v.ID.LongWorkName()} {
		if op.Kind != judge.Create || !w.Memory.HasMet(v.ID, op.Cluster, suspected) {
			continue
		}
		if inTheWay, err = w.examine(ctx, v.ID, op.Cluster, suspected); !apierrors.IsNotFound(err) {
			return memory.Receipt{}, inTheWay, err
		}
	}
	version := w.Caches.WorksVersion()
	takeBack := func() {}
	if op.Kind.Deletes() {
		takeBack = w.Memory.Deleting(op.Work, op.Replaces)
	}
	w.Memory.Sending(v.ID, op.Cluster)
	defer w.Memory.Answered(v.ID, op.Cluster)
	answer, err = w.send(ctx, v, op)
	if op.Kind == judge.Delete {
		w.tellBreaker(v.ID, op.Work, approved, err)
	}
	if op.Kind == judge.Create && apierrors.IsAlreadyExists(err) {
		inTheWay, err = w.examine(ctx, v.ID, op.Cluster, name)
		return memory.Receipt{}, inTheWay, err
	}
	if op.Kind == judge.Create && (err == nil || mayHaveHappened(err)) {
		w.Memory.Created(v.ID, op.Cluster, version)
	}
	switch {
	case err == nil:
		w.Memory.Wrote(v, op, answer)
	case !mayHaveHappened(err):
		takeBack()
	}
	if shown, found := w.Caches.WorkAt(v.ID, op.Cluster, name); found {
		w.Memory.Shown(shown) // the watch may have shown it before the answer
	}
	return answer, nil, err
}

// tellBreaker notes how a deletion has ended.
func (w *Writer) tellBreaker(id render.Identity, work *state.Work, approved bool, err error) {
	switch resource := w.Caches.ResourceOf(id); {
	case err == nil:
		w.Breaker.made(resource, work, approved)
	case mayHaveHappened(err):
		w.Breaker.sent(resource, work, approved)
	}
}

// send makes the request.
func (w *Writer) send(ctx context.Context, v judge.Verdict, op judge.Operation) (memory.Receipt, error) {
	body, err := w.body(ctx, v, op)
	if err != nil {
		return memory.Receipt{}, err
	}
	switch {
	case op.Kind.Deletes():
		err := w.Client.Delete(ctx, op.Work, op.LeavesObject)
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return memory.Receipt{}, err
	case op.Kind == judge.Hold:
		return w.mark(ctx, op)
	case op.Kind == judge.Create:
		return w.Client.create(ctx, render.ExecutionNamespace(op.Cluster), body)
	default:
		answer, err := w.Client.patch(ctx, op.Work.Namespace, op.Work.Name, body)
		if op.Kind == judge.Detach && apierrors.IsNotFound(err) {
			err = nil
		}
		return answer, err
	}
}

// Takes reports whether the API server would take what is to replace a Work. If not, it notes why.
func (w *Writer) Takes(ctx context.Context, v judge.Verdict, deletion judge.Operation, o *Outcome) bool {
	op := judge.Operation{Kind: judge.Create, Cluster: deletion.Cluster}
	held, isHeld := w.Memory.Check(v, op)
	if isHeld {
		o.hold(held.Retry, held.Refusal)
		return false
	}
	body, err := op.Body(v)
	if err == nil {
		err = w.Client.mayCreate(ctx, deletion.Work.Namespace, body)
	}
	if err != nil {
		w.noteFailure(v, op, err, o)
	}
	return err == nil
}

// mark marks a Work whose deletion is held. If an approval has come to cover the mark before it was there to be seen, it is made
// again.
func (w *Writer) mark(ctx context.Context, op judge.Operation) (answer memory.Receipt, err error) {
	resource := w.Caches.ResourceOf(op.Work.Source)
	for version := op.Work.ResourceVersion; ; version = answer.Version {
		hold := w.Breaker.mark(resource, op.Work, op.Because)
		answer, err = w.Client.patch(ctx, op.Work.Namespace, op.Work.Name, hold.Patch(version))
		if err != nil || !w.Breaker.covers(hold, op.Work) {
			return answer, err
		}
	}
}

// body returns what to send for an operation.
func (w *Writer) body(ctx context.Context, v judge.Verdict, op judge.Operation) ([]byte, error) {
	if op.From == nil {
		return op.Body(v)
	}
	obj, err := w.Client.getObject(ctx, op.From.Namespace, op.From.Name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the Work for cluster %q, which has the content that it had: %w", op.From.Cluster, err)
	}
	if now := state.NewWork(obj); now.UID != op.From.UID || now.Digest != op.From.Digest || !now.IsOursFor(v.ID) {
		return nil, errMoved
	}
	return op.BodyLike(v, obj.Object)
}

// errMoved reports that a Work whose content another one was to get has other content now.
var errMoved = errors.New("the Work whose content was to be written has changed")
