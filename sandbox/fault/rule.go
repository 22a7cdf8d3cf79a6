package fault

import (
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
	removed chan struct{}
}

// Hits counts the requests that the rule has hit.
func (r *Rule) Hits() int { return int(r.hits.Load()) }

// Remove removes the rule, and ends the requests that it keeps hanging.
func (r *Rule) Remove() { r.proxy.remove(r) }
