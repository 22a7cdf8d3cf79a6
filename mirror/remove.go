package mirror

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

// proofAge is how old the proof of a deletion may be, in addition to the age of what it
// reuses from recent reads: a deletion may wait for a slot.
const proofAge = time.Second

// turnAge is how long ago it may have been confirmed that it is the turn of what is replaced: on a slow API server, the dry run and
// the proofs that follow take some seconds.
const turnAge = 10 * time.Second

// passPeriod is how often deletions that wait for the cache of Works are looked at again.
const passPeriod = time.Second

// proof is a judgement by live reads, and what the caches held when the reads began. The
// configuration was confirmed just before: otherwise a slow API server would have to answer
// one read more within [proofAge].
type proof struct {
	judge.Judgement
	made time.Time
	seen gather.Seen
	// turn is when it was confirmed that it is the turn of what is replaced in waves.
	turn time.Time
}

// prove judges a source by live reads.
func (c *Controller) prove(ctx context.Context, id render.Identity) (*proof, error) {
	if err := c.currency.confirm(ctx); err != nil {
		return nil, err
	}
	p := &proof{made: c.Clock.Now(), seen: c.caches.Seen(id)}
	facts, err := c.caches.LiveFacts(ctx, id)
	if err != nil {
		return nil, err
	}
	p.Judgement, _, err = c.confirmLoss(ctx, judge.On(facts)) // what replaces a Work rests on overrides, too
	return p, err
}

// stillProves reports whether the proof of a deletion is still recent and nothing that it rests on has
// changed since, as far as the caches know.
func (c *Controller) stillProves(p *proof, cluster string) bool {
	bySelector := p.Facts.Source != nil && p.Facts.Source.Terms.HasSelector()
	return c.Clock.Since(p.made) <= proofAge && c.caches.StillHolds(p.seen, p.Facts.ID, cluster, bySelector)
}

// deletion returns the planned deletion for a cluster, if there is one.
func (p *proof) deletion(cluster string) (judge.Operation, bool) {
	i := slices.IndexFunc(p.Plan, func(op judge.Operation) bool { return op.Kind == judge.Delete && op.Cluster == cluster })
	if i < 0 {
		return judge.Operation{}, false
	}
	return p.Plan[i], true
}

// remove handles the deletions that a judgement finds due. It proves them only after the
// settle period, when the others that may be due have been counted, and each deletion is
// the first write after its proof.
func (c *Controller) remove(ctx context.Context, latest *judged, noFinalizer bool, share write.Share, o *write.Outcome) {
	j := latest.Judgement
	id, resource := j.Facts.ID, c.caches.ResourceOf(j.Facts.ID)
	settle := c.propose(resource, j)
	if len(j.Due) == 0 || settle > 0 {
		o.Settle(max(0, settle))
		return
	}
	if state.IsOlder(c.caches.WorksVersion(), *c.fence.Load()) { // what the last leader held may not be known yet
		o.Settle(passPeriod)
		return
	}
	c.recall.Load().Do(c.recallHeld)
	stays := sets.New[string]()
	for _, due := range j.Due {
		if c.writer.Stays(j.Verdict, judge.Operation{Kind: judge.Delete, Cluster: due.Cluster, Work: due.Work}, o) {
			stays.Insert(due.Cluster)
		}
	}
	if len(stays) == len(j.Due) {
		return
	}
	p, err := c.prove(ctx, id)
	if err != nil {
		o.Fail(err)
		return
	}
	p.turn = latest.at
	c.propose(resource, p.Judgement)
	if len(p.Due) < len(j.Due) {
		o.RetryAfter(wait.Jitter(refutedPeriod, 0.2)) // there need not be an event when that changes
	}
	isDue := func(op judge.Operation) bool {
		return slices.ContainsFunc(j.Due, func(d judge.Due) bool { return d.Cluster == op.Cluster })
	}
	due := slices.DeleteFunc(only(p.Plan, judge.Delete), func(op judge.Operation) bool {
		// That it is the turn of what is replaced in waves was confirmed before. Nothing is created before the finalizer is set.
		return stays.Has(op.Cluster) || op.Replaces && (noFinalizer || !isDue(op))
	})
	c.writer.Each(ctx, due, share, o, func(op judge.Operation) { c.delete(ctx, p, op.Cluster, o) })
	// When the watch has shown an amended Work, the source is judged again: what a cache still asks for would be undone.
	amended := slices.DeleteFunc(only(p.Plan, judge.Amend), func(op judge.Operation) bool { return !isDue(op) })
	c.write(ctx, newJudged(p.Judgement, p.made), amended, share, o)
	if missing := append(p.Lacking(), o.Missing...); len(missing) > 0 && len(o.Deleted) > 0 { // what is replaced is not Deleted
		c.reportIncompleteMove(p.Facts, o.Deleted, missing)
	}
}

// propose tells the breaker which deletions of a source are due, or may be.
func (c *Controller) propose(resource string, j judge.Judgement) (settle time.Duration) {
	if j.Facts.Unknown == "" {
		c.breaker.Judged(resource, j.Facts.ID.Namespace, j.Facts.Works)
	}
	return c.breaker.Propose(resource, j.Facts.ID, j.Due, func(cluster string) bool {
		return j.IsOpen(cluster) && c.caches.IncludesSource(j.Facts.ID)
	})
}

// only returns the operations of one kind.
func only(plan []judge.Operation, kind judge.OperationKind) []judge.Operation {
	return slices.DeleteFunc(slices.Clone(plan), func(op judge.Operation) bool { return op.Kind != kind })
}

// delete carries out a deletion, with a new proof if the given one no longer holds.
func (c *Controller) delete(ctx context.Context, p *proof, cluster string, o *write.Outcome) {
	planned, _ := p.deletion(cluster)
	if planned.Replaces && !c.writer.Takes(ctx, p.Verdict, planned, o) { // the member would be left without either
		return
	}
	isDoubled, err := c.client.IsDoubled(ctx, planned.Work) // its age does not count as that of the proof
	if err != nil {
		o.Fail(err)
		return
	}
	if !c.stillProves(p, cluster) {
		turn := p.turn
		if p, err = c.prove(ctx, p.Facts.ID); err != nil {
			o.Fail(err)
			return
		}
		p.turn = turn
		if c.Clock.Since(p.made) > proofAge {
			o.Fail(errors.New("cannot prove that a Work is unwanted: the API server answers too slowly"))
			return
		}
	}
	op, isDue := p.deletion(cluster)
	if !isDue || op.Work.UID != planned.Work.UID || !c.stillProves(p, cluster) || op.Replaces && c.Clock.Since(p.turn) > turnAge {
		o.LookAgain()
		return
	}
	op.LeavesObject = isDoubled
	c.writer.CarryOut(ctx, p.Verdict, op, o)
}
