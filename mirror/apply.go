package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
)

// outcome sums up what applying a plan has come to.
type outcome struct {
	mu sync.Mutex
	// wrote: a Work has got new content.
	wrote bool
	// settling: a deletion waits for others that may be due.
	settling bool
	refusals []Refusal
	errs     []error
	// retry is when to look again though no event may come; 0 for never.
	retry time.Duration
}

func (o *outcome) retryAfter(d time.Duration) {
	if d > 0 && (o.retry == 0 || d < o.retry) {
		o.retry = d
	}
}

// settle is retryAfter for a deletion that waits d for others; 0 if none does.
func (o *outcome) settle(d time.Duration) {
	o.settling = o.settling || d > 0
	o.retryAfter(d)
}

// err joins the failures in a fixed order.
func (o *outcome) err() error {
	slices.SortFunc(o.errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(o.errs...)
}

// apply carries out a plan: creates and updates of all clusters, then deletes.
// The failure of one cluster holds up no other.
func (c *Controller) apply(ctx context.Context, v Verdict, plan []Operation, isFresh bool) *outcome {
	o := &outcome{}
	split := slices.IndexFunc(plan, func(op Operation) bool { return op.Kind == Delete })
	if split < 0 {
		split = len(plan)
	}
	for _, phase := range [][]Operation{plan[:split], plan[split:]} {
		var inFlight errgroup.Group
		inFlight.SetLimit(c.ConcurrentSyncs)
		for _, op := range phase {
			inFlight.Go(func() error {
				return c.slots.run(ctx, isFresh, func() { c.carryOut(ctx, v, op, o) })
			})
		}
		if err := inFlight.Wait(); err != nil { // interrupted; other failures are in the outcome
			o.errs = append(o.errs, err)
		}
	}
	return o
}

// carryOut does one operation, unless it is outdated, the breaker holds it or the
// ledger knows how it ends.
func (c *Controller) carryOut(ctx context.Context, v Verdict, op Operation, o *outcome) {
	if c.isOutdated(v.ID, op) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.retryAfter(lookAgain)
		return
	}
	if op.Kind == Delete && !c.admitDeletion(v, &op, o) {
		return
	}
	if held, ok := c.ledger.check(v.ID, op, v.Template); ok {
		if held.notice != "" {
			c.logger(v.ID).Warn(held.notice, zap.String("cluster", op.Cluster), zap.String("work", v.ID.WorkName()))
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.retryAfter(held.retry)
		if held.refusal != nil {
			o.refusals = append(o.refusals, *held.refusal)
		}
		return
	}
	inTheWay, err := c.write(ctx, v, op)
	if inTheWay == nil {
		c.countOperation(op, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if inTheWay != nil {
		o.retryAfter(lookAgain)
		return
	}
	if err == nil {
		o.wrote = o.wrote || op.Kind.writesContent()
		c.logger(v.ID).Info("wrote a Work", zap.String("operation", string(op.Kind)), zap.String("cluster", op.Cluster),
			zap.String("work", v.ID.WorkName()), zap.String("reason", op.Because))
		return
	}
	if refusal, permanent := permanentRefusal(err, op.Cluster); permanent && op.Kind.writesContent() {
		c.ledger.record(v.ID, op.Cluster, entry{write: writeOf(op, v.Template), refusal: &refusal, size: v.Template.Size()}, retryRefused)
		o.retryAfter(retryRefused)
		o.refusals = append(o.refusals, refusal)
		return
	}
	o.errs = append(o.errs, fmt.Errorf("cannot %s the Work for cluster %q: %w", op.Kind, op.Cluster, err))
}

// countOperation counts what was written, or could not be. Of a cluster that has left
// there would be a series for ever.
func (c *Controller) countOperation(op Operation, err error) {
	if _, found, _ := c.clusters.Get("", op.Cluster); found {
		c.Metrics.Operation(op.Kind.verb(), op.Cluster, err)
	}
}

// isOutdated reports whether a Work has changed since the operation was planned: there
// may have been a wait for a slot.
func (c *Controller) isOutdated(id render.Identity, op Operation) bool {
	now, _ := c.workAt(id, op.Cluster)
	return now != op.Work
}

// admitDeletion asks the breaker. A deletion that is held becomes the marking of
// the Work, and nothing if it bears the mark.
func (c *Controller) admitDeletion(v Verdict, op *Operation, o *outcome) bool {
	resource := c.resourceOf(v.ID)
	a := c.breaker.admit(resource, v.ID, op.Work, v.NeedsApproval, func() int { return c.countWorks(v.ID.GroupKind()) })
	if a.tell {
		c.reportHeld(resource, a.pending)
	}
	op.approved = a.approved
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case a.wait > 0:
		o.settle(a.wait)
		return false
	case !a.held:
		return true
	}
	o.refusals = append(o.refusals, Refusal{Reason: DeletionHeld, Message: fmt.Sprintf(
		"too many deletions of %s are due: the Work for cluster %q stays until they are approved (karmada-mirror deletions list)", resource, op.Cluster)})
	op.Kind = Hold
	return op.Work.Held == nil
}

// countWorks counts our Works of a kind that are there to stay.
func (c *Controller) countWorks(kind schema.GroupKind) int {
	n := 0
	for _, obj := range c.works.ByIndex(kindIndex, kind.String()) {
		if !obj.(*Work).Terminating {
			n++
		}
	}
	return n
}

// write makes an operation, and the books of it. If a Work stands where one was to
// be created, nothing is written and that is returned.
func (c *Controller) write(ctx context.Context, v Verdict, op Operation) (inTheWay *Work, err error) {
	// A Work that was in the way is looked at, lest the creation is refused again.
	if op.Kind == Create && c.ledger.hasUnlisted(v.ID, op.Cluster) {
		if inTheWay, err = c.examine(ctx, v.ID, op.Cluster); !apierrors.IsNotFound(err) {
			return inTheWay, err
		}
	}
	written, err := c.send(ctx, v, op)
	if op.Kind == Create && apierrors.IsAlreadyExists(err) {
		return c.examine(ctx, v.ID, op.Cluster)
	}
	if err != nil {
		return nil, err
	}
	c.ledger.record(v.ID, op.Cluster, entry{write: writeOf(op, v.Template), written: written}, awaitCache)
	if op.Kind == Delete {
		c.breaker.made(c.resourceOf(v.ID), v.ID, op.approved)
	}
	return nil, nil
}

// send makes the request.
func (c *Controller) send(ctx context.Context, v Verdict, op Operation) (receipt, error) {
	w := op.Work
	switch op.Kind {
	case Delete:
		err := c.client.delete(ctx, w)
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return receipt{}, err
	case Hold:
		resource := c.resourceOf(v.ID)
		hold := render.Hold{Since: c.breaker.holdTime(resource), Resource: resource, Because: op.Because}
		return c.client.patch(ctx, w.Namespace, w.Name, hold.Patch(w.ResourceVersion))
	case Create:
		return c.client.create(ctx, render.ExecutionNamespace(op.Cluster), op.Body(v))
	default:
		return c.client.patch(ctx, w.Namespace, w.Name, op.Body(v))
	}
}

// lookAgain is when to sync a source once more with what has just been found.
const lookAgain = time.Millisecond

// examine reads the Work that stands where one was to be created and that the
// cache does not have: it lacks our label, or the cache lags. The next sync sees
// it.
func (c *Controller) examine(ctx context.Context, id render.Identity, cluster string) (*Work, error) {
	w, err := c.client.get(ctx, render.ExecutionNamespace(cluster), id.WorkName())
	if err == nil {
		c.ledger.record(id, cluster, entry{unlisted: w}, awaitCache)
	}
	return w, err
}
