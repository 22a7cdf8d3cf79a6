package mirror

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karmada-target/karmada-mirror/render"
)

type syncResult struct {
	refused bool
	// wrote: a Work has got new content.
	wrote bool
	// settling: a deletion waits for others that may be due.
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

// sync makes the Works of one source what they should be, and sees to a change that
// has arrived: it stays fresh until all of it is done.
func (c *Controller) sync(ctx context.Context, id render.Identity) (syncResult, error) {
	arrived, isFresh := c.arrivals.take(id)
	result, err := c.reconcile(ctx, id, isFresh)
	switch {
	case !isFresh:
	case err != nil:
		c.arrivals.note(id, arrived)
	default:
		if result.wrote {
			c.Metrics.Propagation(c.resourceOf(id), c.Clock.Since(arrived))
		}
		if result.settling {
			c.arrivals.note(id, arrived)
		}
	}
	return result, err
}

// reconcile is the only path to a write.
func (c *Controller) reconcile(ctx context.Context, id render.Identity, isFresh bool) (syncResult, error) {
	j, err := c.judge(ctx, id)
	if err != nil {
		return syncResult{}, err
	}
	o := c.apply(ctx, j.verdict, j.plan, isFresh)
	o.settle(j.settle)
	o.retryAfter(j.retry)
	refusals := j.verdict.Refusals
	slices.SortFunc(o.refusals, func(a, b Refusal) int { return cmp.Compare(a.Message, b.Message) })
	for _, r := range o.refusals {
		refusals = addRefusal(refusals, r)
	}
	for _, w := range j.facts.Works {
		c.ledger.settle(w) // the watch may have shown it before the answer to our write
	}
	c.report(j.facts, refusals, j.verdict.Notices)
	c.ledger.retain(id, j.verdict.Targets)
	return syncResult{refused: len(refusals) > 0, wrote: o.wrote, settling: o.settling, retry: o.retry}, o.err()
}

// judgement is what is known of a source, and what follows from it.
type judgement struct {
	facts   Facts
	verdict Verdict
	plan    []Operation
	due     []*Work
	// settle is how long the deletions that are due wait for others; 0 for not at all.
	settle time.Duration
	// retry is when to look again though no event may come; 0 for never.
	retry time.Duration
}

// judge decides by the caches, and by a live read where they prove nothing.
func (c *Controller) judge(ctx context.Context, id render.Identity) (judgement, error) {
	facts, due := c.cachedFacts(id), 0
	if !facts.outdated {
		cached := c.judgeBy(facts)
		due = len(cached.due)
		if toProve := due > 0 && cached.settle == 0; !toProve && !c.behindFence(id, cached.plan) {
			return cached, nil
		}
	}
	facts, err := c.liveFacts(ctx, id)
	if err != nil {
		return judgement{}, err
	}
	live := c.judgeBy(facts)
	if refuted := len(live.due) < due; refuted && live.settle == 0 {
		live.retry = wait.Jitter(refutedPeriod, 0.2)
	}
	return live, nil
}

// judgeBy decides by facts and tells the breaker which deletions are due.
func (c *Controller) judgeBy(f Facts) judgement {
	v := Decide(f)
	due := c.dueDeletions(v, f.Works)
	settle := max(0, c.breaker.propose(c.resourceOf(v.ID), v.ID, due))
	return judgement{facts: f, verdict: v, plan: Plan(v, f.Works), due: due, settle: settle}
}

// dueDeletions lists the Works that a verdict speaks against, proved or not, and
// whose deletion has not been asked for yet.
func (c *Controller) dueDeletions(v Verdict, works map[string]*Work) []*Work {
	var due []*Work
	for cluster, target := range v.Targets {
		w, ok := works[cluster]
		if ok && (target.isUnproven() || target.Decision == Unwanted) && w.Labelled && !w.Terminating && !c.ledger.hasDeleted(v.ID, w) {
			due = append(due, w)
		}
	}
	return due
}

// behindFence reports whether a plan writes by what a cache says that may be
// older than what the leader before us wrote: it could write old content over
// new, bring back what was deleted, or release what a policy claims no more.
func (c *Controller) behindFence(id render.Identity, plan []Operation) bool {
	// A deletion is decided on by a live read anyway.
	if !slices.ContainsFunc(plan, func(op Operation) bool { return op.Kind != Delete }) {
		return false
	}
	w, unknown := c.watchOf(id)
	if unknown != "" {
		return false
	}
	fence := *c.fence.Load()
	hasDefaults := c.defaultsOf(id.Namespace) != render.Wishes{}
	return isOlder(w.Status().ResourceVersion, fence) || hasDefaults && isOlder(c.namespaces.Status().ResourceVersion, fence)
}
