package write

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
)

const (
	// retryRefused is how often a write is retried that only a change of the object can
	// fix.
	retryRefused = 5 * time.Minute
	// minParked is how long a write first waits that may have been refused because the API
	// server does not know our rights yet; the wait doubles each time.
	minParked = time.Second
	// knownRefused is how often such a write must be refused before we report it.
	knownRefused = 4
)

// parked are the operations that were refused, and would be refused again.
type parked struct {
	clock clock.Clock
	by    byWork[parking]
}

type parking struct {
	write
	refusal judge.Refusal
	size    int // of the content that was refused
	until   time.Time
	times   int
}

func newParked(c clock.Clock) *parked { return &parked{clock: c} }

// park notes a refusal. It returns when to retry, and whether the refusal is certain.
func (p *parked) park(v judge.Verdict, op judge.Operation, refusal judge.Refusal) (retry time.Duration, isKnown bool) {
	next := parking{write: writeOf(v, op), refusal: refusal, times: 1}
	if op.Kind.WritesContent() {
		next.size = v.Targets[op.Cluster].Size()
	}
	if last, ok := p.by.get(v.ID, op.Cluster); ok && last.refusal.Reason == refusal.Reason {
		next.times = last.times + 1
	}
	retry, isKnown = retryRefused, true
	if refusal.Reason == judge.NotAuthorized {
		retry, isKnown = min(retryRefused, minParked<<min(next.times-1, 16)), next.times >= knownRefused
	}
	next.until = p.clock.Now().Add(retry)
	p.by.set(v.ID, op.Cluster, next)
	return retry, isKnown
}

// check reports whether an operation would be refused again.
func (p *parked) check(v judge.Verdict, op judge.Operation, w write) (holdback, bool) {
	last, ok := p.by.get(v.ID, op.Cluster)
	left := last.until.Sub(p.clock.Now())
	if !ok || left <= 0 || last.write != w && !last.isAsLarge(v, op) {
		return holdback{}, false
	}
	if last.refusal.Reason == judge.NotAuthorized && last.times < knownRefused {
		return holdback{retry: left}, true
	}
	return holdback{refusal: &last.refusal, retry: left}, true
}

// isAsLarge reports whether an operation writes at least as much as was refused before as
// too large.
func (p parking) isAsLarge(v judge.Verdict, op judge.Operation) bool {
	return op.Kind.WritesContent() && p.refusal.Reason == judge.TooLarge && v.Targets[op.Cluster].Size() >= p.size
}
