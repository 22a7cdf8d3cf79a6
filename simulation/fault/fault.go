// Package fault makes the way between a client and an API server fail on request.
package fault

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Latency is how long a request is on its way, in each direction: without it, a client that
// repeats a request at once would do so forever, and simulated time would stand still.
const Latency = time.Millisecond / 2

// Match says which requests a rule applies to. Empty fields match everything.
type Match struct {
	// Verb is the API verb: get, list, watch, create, update, patch, delete. A streaming
	// list is a watch.
	Verb string
	// Resource is a plural, in any group.
	Resource        string
	Namespace, Name string
	// AllNamespaces matches only requests that name no namespace.
	AllNamespaces bool
	// Share is the random share of requests that are hit; 0 means all.
	Share float64
}

// request is what a Match sees of a request.
type request struct {
	verb, resource, namespace, name string
	cancel                          context.CancelFunc
}

func (m Match) matches(r *request) bool {
	return (m.Verb == "" || m.Verb == r.verb) && (m.Resource == "" || m.Resource == r.resource) && (m.Namespace == "" || m.Namespace == r.namespace) &&
		(!m.AllNamespaces || r.namespace == "") && (m.Name == "" || m.Name == r.name)
}

// parse reads /api/v1/… and /apis/<group>/<version>/….
func parse(r *http.Request) *request {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	parts = parts[min(len(parts), map[string]int{"api": 2, "apis": 3}[parts[0]]):]
	p := &request{}
	if len(parts) > 2 && parts[0] == "namespaces" {
		p.namespace, parts = parts[1], parts[2:]
	}
	if len(parts) > 0 {
		p.resource = parts[0]
	}
	if len(parts) > 1 {
		p.name = parts[1]
	}
	p.verb = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete", http.MethodGet: "list"}[r.Method]
	switch query := r.URL.Query(); {
	case query.Get("watch") == "true" || query.Get("watch") == "1":
		p.verb = "watch"
		if name, ok := strings.CutPrefix(query.Get("fieldSelector"), "metadata.name="); ok {
			p.name = name
		}
	case p.verb == "list" && p.name != "":
		p.verb = "get"
	}
	return p
}

// Fault answers a request in place of the API server, which it can call through next. removed
// is closed when the rule is removed.
type Fault func(r *http.Request, next http.RoundTripper, removed <-chan struct{}) (*http.Response, error)

// Rule is a fault in force.
type Rule struct {
	layer   *Layer
	match   Match
	fault   Fault
	removed chan struct{}
}

// Remove removes the rule, and ends the requests that it keeps hanging.
func (r *Rule) Remove() {
	r.layer.mu.Lock()
	defer r.layer.mu.Unlock()
	if i := slices.Index(r.layer.rules, r); i >= 0 {
		r.layer.rules = slices.Delete(slices.Clone(r.layer.rules), i, i+1)
		close(r.removed)
	}
}

// Layer is an http.RoundTripper that forwards requests until a rule says otherwise.
type Layer struct {
	mu       sync.Mutex
	next     http.RoundTripper
	random   *rand.Rand
	rules    []*Rule
	inFlight map[*request]bool
	latency  time.Duration
	isCut    bool
}

// New returns a Layer in front of an API server. The seed makes the choices of rules with a
// Share repeatable.
func New(next http.RoundTripper, seed uint64) *Layer {
	return &Layer{next: next, random: rand.New(rand.NewPCG(seed, seed)), inFlight: map[*request]bool{}, latency: Latency}
}

// SetLatency sets how long each request is on its way from now on, in each direction.
func (l *Layer) SetLatency(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latency = max(d, Latency)
}

func (l *Layer) currentLatency() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latency
}

// Connect leads to another API server from now on; requests in flight stay where they are.
func (l *Layer) Connect(next http.RoundTripper) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next, l.isCut = next, false
}

// Cut ends all requests, and fails all later ones, until Connect.
func (l *Layer) Cut() {
	l.mu.Lock()
	l.isCut = true
	l.mu.Unlock()
	l.End(Match{})
}

// End ends the matching requests in flight, so that the client sends them again.
func (l *Layer) End(m Match) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for r := range l.inFlight {
		if m.matches(r) {
			r.cancel()
		}
	}
}

// InFlight counts the matching requests that have no answer yet; a watch has none until it ends.
func (l *Layer) InFlight(m Match) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for r := range l.inFlight {
		if m.matches(r) {
			n++
		}
	}
	return n
}

// Inject adds a rule. Of those that match, the newest counts.
func (l *Layer) Inject(m Match, f Fault) *Rule {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Rule{layer: l, match: m, fault: f, removed: make(chan struct{})}
	l.rules = append([]*Rule{r}, l.rules...)
	return r
}

// RoundTrip implements http.RoundTripper.
func (l *Layer) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	p := parse(r)
	p.cancel = cancel
	next, rule, err := l.begin(p)
	if err != nil {
		cancel()
		return nil, err
	}
	ended := func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.inFlight, p)
	}
	response, err := l.transit(r.WithContext(ctx), next, rule)
	if err != nil {
		ended()
		return nil, err
	}
	response.Request = r
	if p.verb != "watch" { // the whole answer is in memory
		ended()
		return response, nil
	}
	response.Body = &body{ReadCloser: response.Body, ended: sync.OnceFunc(ended)}
	return response, nil
}

func (l *Layer) begin(p *request) (http.RoundTripper, *Rule, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isCut {
		return nil, nil, errReset
	}
	l.inFlight[p] = true
	for _, rule := range l.rules {
		if rule.match.matches(p) && (rule.match.Share == 0 || l.random.Float64() < rule.match.Share) {
			return l.next, rule, nil
		}
	}
	return l.next, nil, nil
}

// transit takes a request to the API server and its answer back.
func (l *Layer) transit(r *http.Request, next http.RoundTripper, rule *Rule) (*http.Response, error) {
	latency := l.currentLatency()
	if err := wait(r.Context(), latency); err != nil {
		return nil, err
	}
	var response *http.Response
	var err error
	if rule != nil {
		response, err = rule.fault(r, next, rule.removed)
	} else {
		response, err = next.RoundTrip(r)
	}
	if err != nil {
		return nil, err
	}
	if err := wait(r.Context(), latency); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

// wait waits unless the request ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// body is the stream of a watch, which ends with the request.
type body struct {
	io.ReadCloser
	ended func()
}

func (b *body) Close() error {
	b.ended()
	return b.ReadCloser.Close()
}
