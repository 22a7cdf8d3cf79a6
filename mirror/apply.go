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

// clustersAtOnce bounds the writes of one source that are in flight together.
const clustersAtOnce = 8

// outcome sums up what applying a plan has come to.
type outcome struct {
	mu       sync.Mutex
	written  int
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

// err joins the failures in a fixed order.
func (o *outcome) err() error {
	slices.SortFunc(o.errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(o.errs...)
}

// apply carries out a plan: creates and updates of all clusters, then deletes.
// The failure of one cluster holds up no other.
func (c *Controller) apply(ctx context.Context, v Verdict, plan []Operation) *outcome {
	o := &outcome{}
	split := slices.IndexFunc(plan, func(op Operation) bool { return op.Kind == Delete })
	if split < 0 {
		split = len(plan)
	}
	for _, phase := range [][]Operation{plan[:split], plan[split:]} {
		var inFlight errgroup.Group
		inFlight.SetLimit(clustersAtOnce)
		for _, op := range phase {
			inFlight.Go(func() error {
				c.carryOut(ctx, v, op, o)
				return nil
			})
		}
		_ = inFlight.Wait() // failures are in the outcome
	}
	return o
}

// carryOut does one operation, unless the breaker holds it or the ledger knows
// how it ends.
func (c *Controller) carryOut(ctx context.Context, v Verdict, op Operation, o *outcome) {
	if op.Kind == Delete && !c.admitDeletion(v, &op, o) {
		return
	}
	if held, ok := c.ledger.check(v.ID, op, v.Template); ok {
		if held.altered {
			c.logger(v.ID).Warn("admission alters what is written: leaving it at that",
				zap.String("cluster", op.Cluster), zap.String("work", v.ID.WorkName()))
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.retryAfter(held.retry)
		if held.refusal != nil {
			o.refusals = addRefusal(o.refusals, *held.refusal)
		}
		return
	}
	err := c.write(ctx, v, op)
	c.Metrics.Operation(op.Kind.verb(), op.Cluster, err)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		o.written++
		o.retryAfter(awaitCache)
		c.logger(v.ID).Info("wrote a Work", zap.String("operation", string(op.Kind)), zap.String("cluster", op.Cluster),
			zap.String("work", v.ID.WorkName()), zap.String("reason", op.Because))
		return
	}
	if refusal, permanent := permanentRefusal(err, op.Cluster); permanent && op.Kind.writesContent() {
		c.ledger.record(v.ID, op.Cluster, entry{kind: op.Kind, digest: v.Template.Digest(), source: v.Template.UID(), refusal: &refusal}, retryRefused)
		o.retryAfter(retryRefused)
		o.refusals = addRefusal(o.refusals, refusal)
		return
	}
	o.errs = append(o.errs, fmt.Errorf("cannot %s the Work for cluster %q: %w", op.Kind, op.Cluster, err))
}

// admitDeletion asks the breaker. A deletion that is held becomes the marking of
// the Work, and nothing if it bears the mark.
func (c *Controller) admitDeletion(v Verdict, op *Operation, o *outcome) bool {
	resource := c.resourceOf(v.ID)
	a := c.breaker.admit(resource, v.ID, op.Work, v.NeedsApproval, func() int { return c.countWorks(v.ID.GroupKind()) })
	if a.tripped {
		c.reportTripped(resource, a.pending)
	}
	op.approved = a.approved
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case a.wait > 0:
		o.retryAfter(a.wait)
		return false
	case !a.held:
		return true
	}
	o.refusals = addRefusal(o.refusals, Refusal{DeletionHeld, fmt.Sprintf(
		"too many deletions of %s are due: the Work for cluster %q stays until they are approved (karmada-mirror deletions list)", resource, op.Cluster)})
	op.Kind = Hold
	return op.Work.Held == nil
}

// countWorks counts our Works of a kind that are there to stay.
func (c *Controller) countWorks(kind schema.GroupKind) int {
	n := 0
	for _, obj := range c.works.ByIndex(kindIndex, kind.String()) {
		if obj.(*Work).DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

func (c *Controller) write(ctx context.Context, v Verdict, op Operation) error {
	namespace := render.ExecutionNamespace(op.Cluster)
	switch op.Kind {
	case Delete:
		err := c.client.delete(ctx, op.Work)
		if apierrors.IsNotFound(err) {
			err = nil
		}
		if err == nil {
			c.ledger.record(v.ID, op.Cluster, entry{kind: Delete, work: op.Work.UID}, awaitCache)
			c.breaker.made(c.resourceOf(v.ID), v.ID, op.approved)
		}
		return err
	case Hold:
		hold := render.Hold{Since: c.Clock.Now(), Resource: c.resourceOf(v.ID), Because: op.Because}
		return c.mark(ctx, v.ID, op, hold.Patch(op.Work.ResourceVersion))
	case Release:
		return c.mark(ctx, v.ID, op, render.Release(v.ID, op.Work.ResourceVersion))
	case Update:
		written, err := c.client.patch(ctx, namespace, op.Work.Name, v.Template.Patch(op.Cluster, op.Work.ResourceVersion, op.Work.Finalizers, op.Work.Handed == v.ID))
		if err == nil {
			c.ledger.record(v.ID, op.Cluster, entry{kind: Update, digest: v.Template.Digest(), source: v.Template.UID(), written: written}, awaitCache)
		}
		return err
	default:
		written, err := c.client.create(ctx, namespace, v.Template.Work(op.Cluster))
		if err == nil {
			c.ledger.record(v.ID, op.Cluster, entry{kind: Create, digest: v.Template.Digest(), source: v.Template.UID(), written: written}, awaitCache)
		}
		if apierrors.IsAlreadyExists(err) {
			return c.examine(ctx, v.ID, op.Cluster, err)
		}
		return err
	}
}

// mark changes labels and annotations of a Work, and nothing else.
func (c *Controller) mark(ctx context.Context, id render.Identity, op Operation, patch []byte) error {
	_, err := c.client.patch(ctx, op.Work.Namespace, op.Work.Name, patch)
	if err == nil {
		c.ledger.record(id, op.Cluster, entry{kind: op.Kind, work: op.Work.UID}, awaitCache)
	}
	return err
}

// examine reads the Work that stands where one was to be created and that the
// cache does not have: it lacks our label, or the cache lags. The next sync sees
// it.
func (c *Controller) examine(ctx context.Context, id render.Identity, cluster string, exists error) error {
	w, err := c.client.get(ctx, render.ExecutionNamespace(cluster), id.WorkName())
	if err != nil {
		return err
	}
	c.ledger.record(id, cluster, entry{unlisted: w}, awaitCache)
	return exists
}
