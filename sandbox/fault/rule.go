package fault

import (
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
	// Share of the requests that are hit, by chance; 0 is all of them.
	Share float64
}

func (m Match) matches(info *request.RequestInfo) bool {
	return (m.Verb == "" || m.Verb == info.Verb) &&
		(m.Group == "" || m.Group == info.APIGroup) &&
		(m.Resource == "" || m.Resource == info.Resource) &&
		(m.Namespace == "" || m.Namespace == info.Namespace) &&
		(m.Name == "" || m.Name == info.Name)
}

// Rule is a fault in force.
type Rule struct {
	proxy   *Proxy
	match   Match
	fault   Fault
	hits    atomic.Int64
	removed chan struct{}
}

// Hits counts the requests that the rule has hit.
func (r *Rule) Hits() int { return int(r.hits.Load()) }

// Remove ends the rule, and the requests that it keeps hanging.
func (r *Rule) Remove() { r.proxy.remove(r) }
