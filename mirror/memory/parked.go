package memory

import (
	"time"

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

// parking is an operation that was refused, and would be refused again. Do not change it.
type parking struct {
	write
	refusal judge.Refusal
	size    int // of the content that was refused
	until   time.Time
	times   int
}

// Park notes a refusal. It returns when to retry, and whether the refusal is certain.
func (m *Memory) Park(v judge.Verdict, op judge.Operation, refusal judge.Refusal) (retry time.Duration, isKnown bool) {
	next := parking{write: writeOf(v, op), refusal: refusal, times: 1}
	if op.Kind.WritesContent() {
		next.size = v.Targets[op.Cluster].Size()
	}
	if last := m.read(v.ID, op.Cluster).parked; last != nil && last.refusal.Reason == refusal.Reason {
		next.times = last.times + 1
	}
	retry, isKnown = retryRefused, true
	if refusal.Reason == judge.NotAuthorized {
		retry, isKnown = min(retryRefused, minParked<<min(next.times-1, 16)), next.times >= knownRefused
	}
	next.until = m.clock.Now().Add(retry)
	m.change(v.ID, op.Cluster, func(w *work) { w.parked = &next })
	return retry, isKnown
}

// check reports whether an operation would be refused again.
func (p *parking) check(v judge.Verdict, op judge.Operation, w write, now time.Time) (Holdback, bool) {
	if p == nil || !now.Before(p.until) || p.write != w && !p.isAsLarge(v, op) {
		return Holdback{}, false
	}
	left := p.until.Sub(now)
	if p.refusal.Reason == judge.NotAuthorized && p.times < knownRefused {
		return Holdback{Retry: left}, true
	}
	refusal := p.refusal
	return Holdback{Refusal: &refusal, Retry: left}, true
}

// isAsLarge reports whether an operation writes at least as much as was refused before as
// too large.
func (p *parking) isAsLarge(v judge.Verdict, op judge.Operation) bool {
	return op.Kind.WritesContent() && p.refusal.Reason == judge.TooLarge && v.Targets[op.Cluster].Size() >= p.size
}
