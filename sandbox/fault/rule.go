package fault

import (
	"context"
	"sync/atomic"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// Match says which requests a rule is for. What is left empty matches all.
type Match struct {
	// Verb is of the API: get, list, watch, create, update, patch, delete. A list
	// by a stream is a watch.
	Verb string
	// Group and Resource; the core group is reached by Resource alone.
	Group, Resource string
	Namespace, Name string
	// AllNamespaces: only what is of no one namespace.
	AllNamespaces bool
	// Share of the requests that are hit, by chance; 0 is all of them.
	Share float64
}

func (m Match) matches(info *request.RequestInfo) bool {
	return (m.Verb == "" || m.Verb == info.Verb) &&
		(m.Group == "" || m.Group == info.APIGroup) &&
		(m.Resource == "" || m.Resource == info.Resource) &&
		(m.Namespace == "" || m.Namespace == info.Namespace) &&
		(!m.AllNamespaces || info.Namespace == "") &&
		(m.Name == "" || m.Name == info.Name)
}

// Rule is a fault in force.
type Rule struct {
	proxy   *Proxy
	match   Match
	fault   Fault
	hits    atomic.Int64
	effects atomic.Int64
	removed chan struct{}
}

// Hits counts the requests that the rule has hit.
func (r *Rule) Hits() int { return int(r.hits.Load()) }

// Effects counts what the rule has left out of lists and watches, and the recordings that
// it has told again: a fault that hits a request of another form may do nothing to it.
func (r *Rule) Effects() int { return int(r.effects.Load()) }

type effectsKey struct{}

func withEffects(ctx context.Context, effects *atomic.Int64) context.Context {
	return context.WithValue(ctx, effectsKey{}, effects)
}

// noteEffect counts one of the rule by which a request came to a fault.
func noteEffect(ctx context.Context) {
	if effects, ok := ctx.Value(effectsKey{}).(*atomic.Int64); ok {
		effects.Add(1)
	}
}

// Remove ends the rule, and the requests that it keeps hanging.
func (r *Rule) Remove() { r.proxy.remove(r) }
