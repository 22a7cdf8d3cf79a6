package mirror

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

type syncResult struct {
	refused bool
	// wrote: a Work has new content.
	wrote bool
	// settling: a deletion waits for the settle period.
	settling bool
	retry    time.Duration
}

func (r syncResult) label(err error) string {
	switch {
	case err != nil:
		return "error"
	case r.refused:
		return "refused"
	}
	return "success"
}

// sync reconciles the Works of one source. A source that has changed stays fresh until the
// whole change is applied.
func (c *Controller) sync(ctx context.Context, id render.Identity) (syncResult, error) {
	arrived, q := c.memory.TakeArrival(id), c.queue.Load()
	share := write.Others
	switch {
	case q != nil && q.IsSlow(id):
		share = write.Slow
	case !arrived.IsZero():
		share = write.Fresh
	}
	result, err := c.reconcile(ctx, id, share)
	if arrived.IsZero() {
		return result, err
	}
	if err == nil && result.wrote {
		c.Metrics.Propagation(c.caches.ResourceOf(id), c.Clock.Since(arrived))
	}
	if err != nil || result.settling {
		c.memory.ArriveAgain(id, arrived)
	}
	return result, err
}

// reconcile is the only path to a write.
func (c *Controller) reconcile(ctx context.Context, id render.Identity, share write.Share) (_ syncResult, err error) {
	defer state.Catch(&err)
	o := &write.Outcome{}
	notRemoved := c.releaseFinalizer(ctx, id, o)
	if err := c.writer.FindAgain(ctx, id, share, func() judge.Judgement { return judge.On(c.caches.Facts(id)) }); err != nil {
		return syncResult{}, err
	}
	j, err := c.judge(ctx, id)
	if err != nil {
		return syncResult{}, err
	}
	latest := newJudged(j, c.Clock.Now())
	finalizer := c.finalizers.apply(ctx, j, o)
	c.write(ctx, latest, writable(j.Plan, finalizer.early), share, o)
	o.Await(j.Verdict.AwaitingNamespace())
	c.remove(ctx, latest, finalizer.early, share, o)
	refusals := j.Verdict.Refusals
	slices.SortFunc(o.Refusals, func(a, b judge.Refusal) int { return cmp.Compare(a.Message, b.Message) })
	for _, r := range o.Refusals {
		refusals = judge.AddRefusal(refusals, r)
	}
	c.report(j.Facts, refusals, append(c.finalizers.notices(j, o, notRemoved, finalizer.denied), c.contested(j.Verdict, o)...))
	c.writer.Find(ctx, id, j.Hidden(), share, o)
	c.caches.NoteRollout(j)
	if definition, misses := c.caches.MissesDefinition(j); misses {
		c.enqueue(definition)
	}
	o.RetryAfter(j.Verdict.RecheckAfter)
	areKnown := j.Facts.Unknown == "" && (j.Facts.Source == nil || j.Facts.Source.Refusal == nil)
	c.memory.Retain(id, j.Verdict.Targets, j.AwaitsWorks() && !j.Facts.Source.Asks, areKnown)
	if o.Undone {
		c.enqueueStatus(id)
	}
	if c.hasMoved(j) {
		o.LookAgain()
	}
	return syncResult{refused: len(refusals) > 0, wrote: o.Wrote, settling: o.Settling, retry: o.Retry}, o.Err()
}

// write carries out operations as long as they are still due.
func (c *Controller) write(ctx context.Context, latest *judged, operations []judge.Operation, share write.Share, o *write.Outcome) {
	c.writer.Each(ctx, operations, share, o, func(op judge.Operation) { c.give(ctx, latest, op, o) })
}

// judged is the latest judgement of a sync, and when that was made; it is used in turn.
type judged struct {
	turn chan struct{}
	judge.Judgement
	at time.Time
	// lacksFinalizer: the source is to have our finalizer since the sync began, and this sync does not set it.
	lacksFinalizer bool
}

func newJudged(j judge.Judgement, at time.Time) *judged {
	return &judged{turn: make(chan struct{}, 1), Judgement: j, at: at}
}

// give carries out one operation. One that has waited for a slot for longer than [proofAge] is judged again: its source may have
// changed meanwhile, or a cluster on which it rests may have failed.
func (c *Controller) give(ctx context.Context, latest *judged, op judge.Operation, o *write.Outcome) {
	j, lacksFinalizer, err := c.judgeAgain(ctx, latest)
	if err != nil {
		o.Fail(err)
		return
	}
	i := slices.IndexFunc(j.Plan, func(planned judge.Operation) bool { return planned.Kind == op.Kind && planned.Cluster == op.Cluster })
	if i < 0 || op.Kind == judge.Create && lacksFinalizer {
		o.LookAgain()
		return
	}
	c.writer.CarryOut(ctx, j.Verdict, j.Plan[i], o)
}

func (c *Controller) judgeAgain(ctx context.Context, latest *judged) (j judge.Judgement, lacksFinalizer bool, err error) {
	latest.turn <- struct{}{}
	defer func() { <-latest.turn }()
	if c.Clock.Since(latest.at) <= proofAge {
		return latest.Judgement, latest.lacksFinalizer, nil
	}
	if j, err = c.judge(ctx, latest.Facts.ID); err != nil {
		return j, false, err
	}
	latest.lacksFinalizer = latest.lacksFinalizer || j.Finalizer() == judge.AddFinalizer && latest.Finalizer() != judge.AddFinalizer
	latest.Judgement, latest.at = j, c.Clock.Now()
	return j, latest.lacksFinalizer, nil
}

// writable returns the operations to carry out before the deletions, which need a proof of their own.
// Nothing is created before the finalizer of the source is set.
func writable(plan []judge.Operation, noFinalizer bool) []judge.Operation {
	return slices.DeleteFunc(slices.Clone(plan), func(op judge.Operation) bool {
		return op.Kind == judge.Delete || op.Kind == judge.Create && noFinalizer
	})
}

// judge judges a source, with all that is read live before something is written. A lost override settles for some time, and a
// wave that live reads have held back is looked at again after some.
// What was read is combined with what the caches showed before: that must still be so when the reads were slow.
func (c *Controller) judge(ctx context.Context, id render.Identity) (j judge.Judgement, err error) {
	began, facts := c.Clock.Now(), c.caches.Facts(id)
	c.caches.Remember(facts)
	var settles, refuted time.Duration
	if j, err = c.look(ctx, facts); err == nil {
		j, settles, err = c.confirmLoss(ctx, j)
	}
	if err == nil {
		j, refuted, err = c.confirmWaves(ctx, j)
		j.Verdict.RecheckAfter = judge.Sooner(j.Verdict.RecheckAfter, judge.Sooner(settles, refuted))
	}
	isOutvoted := func(op judge.Operation) bool { return op.Kind == judge.Update && c.caches.IsOutvoted(op.Work) }
	if err == nil && slices.ContainsFunc(j.Plan, isOutvoted) {
		err = errOutvoted
	}
	if err == nil && c.Clock.Since(began) > proofAge && !c.caches.Facts(id).IsAs(facts, j.RestsOn()) {
		err = errOutdated
	}
	return j, err
}

// errOutdated ends a sync whose judgement has become outdated.
var errOutdated = errors.New("what decides about its Works has changed while the API server answered slowly")

// errOutvoted ends a sync that would rewrite a Work in another version of its kind by itself.
var errOutvoted = errors.New("its resource is watched in another version than its Works have: waiting until it is watched in that version")

// look judges by the caches, and by live reads where the caches do not suffice for the
// planned writes.
func (c *Controller) look(ctx context.Context, facts judge.Facts) (judge.Judgement, error) {
	id, j := facts.ID, judge.On(facts)
	isBehind := c.behindFence(j)
	if !j.Verdict.Unread && !j.Verdict.AsksBinding() && !isBehind {
		return j, nil
	}
	facts, err := c.caches.LiveFacts(ctx, id)
	if last := c.read.Load(); isBehind && err == nil && facts.Source != nil && (last == nil || state.IsOlder(*last, facts.Source.ResourceVersion)) {
		c.read.Store(&facts.Source.ResourceVersion)
	}
	return judge.On(facts), err
}

// confirmWaves judges again if a wave that goes on rests on Works that the cache shows as they were. What would be refused
// again is not worth the reads, and is not sent without them.
func (c *Controller) confirmWaves(ctx context.Context, j judge.Judgement) (confirmed judge.Judgement, again time.Duration, err error) {
	if len(j.RestsOn()) == 0 {
		return j, 0, nil
	}
	rests := func(op judge.Operation) bool { return op.Kind != judge.Delete && op.Kind != judge.Wake }
	if !j.Verdict.Replaces() && !slices.ContainsFunc(j.Plan, func(op judge.Operation) bool { return rests(op) && !c.memory.Holds(j.Verdict, op) }) {
		for i, op := range j.Plan {
			j.Plan[i].Unconfirmed = rests(op)
		}
		return j, 0, nil
	}
	if err := c.caches.ReadWaves(ctx, &j.Facts, j.RestsOn()); err != nil {
		return j, 0, err
	}
	if confirmed = judge.On(j.Facts); len(confirmed.RestsOn()) == 0 {
		again = wait.Jitter(refutedPeriod, 0.2) // there need not be an event when that changes
	}
	return confirmed, again, nil
}

// behindFence reports whether a plan writes something based on a cache that may be older
// than the last leader's writes: that could overwrite new content with old, recreate what
// was deleted, or release what a policy no longer claims. The caches of Namespaces and
// Clusters have passed the fence before we lead.
func (c *Controller) behindFence(j judge.Judgement) bool {
	// Deletions are decided by a live read anyway.
	writes := func(op judge.Operation) bool { return op.Kind != judge.Delete }
	read := c.read.Load()
	isOlder := state.IsOlder(j.Facts.Version, *c.fence.Load()) || read != nil && state.IsOlder(j.Facts.Version, *read)
	return isOlder && slices.ContainsFunc(j.Plan, writes)
}

// hasMoved reports whether a Work that was in the way has changed meanwhile: its deletion
// enqueues a source only once the refusal of that source has been noted.
func (c *Controller) hasMoved(j judge.Judgement) bool {
	if !slices.ContainsFunc(j.Verdict.Refusals, func(r judge.Refusal) bool { return r.Reason == judge.WorkConflict }) {
		return false
	}
	for cluster, w := range j.Facts.Works {
		if now, _ := c.caches.WorkAt(j.Facts.ID, cluster, w.Name); now != w {
			return true
		}
	}
	return false
}
