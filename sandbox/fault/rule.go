package fault

import (
	"context"
	"sync/atomic"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// Match says which requests a rule applies to. Empty fields match everything.
type Match struct {
	// Verb is the API verb: get, list, watch, create, update, patch, delete. A streaming
	// list is a watch.
	Verb string
	// Group and Resource of the request; give Resource alone for the core group.
	Group, Resource string
	Namespace, Name string
	// AllNamespaces matches only requests that name no namespace.
	AllNamespaces bool
	// Share is the random share of requests that are hit; 0 means all.
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

// Effects counts the items and events that the rule dropped, and the recordings that it
// replayed: a fault may do nothing to a request of another form that it hits.
func (r *Rule) Effects() int { return int(r.effects.Load()) }

type effectsKey struct{}

func withEffects(ctx context.Context, effects *atomic.Int64) context.Context {
	return context.WithValue(ctx, effectsKey{}, effects)
}

// noteEffect counts an effect of the rule that sent the request to a fault.
func noteEffect(ctx context.Context) {
	if effects, ok := ctx.Value(effectsKey{}).(*atomic.Int64); ok {
		effects.Add(1)
	}
}

// Remove removes the rule, and ends the requests that it keeps hanging.
func (r *Rule) Remove() { r.proxy.remove(r) }
