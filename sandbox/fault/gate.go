package fault

import (
	"context"
	"net/http"
	"sync"
)

// Gate holds back requests, or the events of watches, while it is shut. It passes events on in
// order when it opens.
type Gate struct {
	mu     sync.Mutex
	opened chan struct{} // closed while the gate is open
}

// NewGate returns an open Gate.
func NewGate() *Gate {
	g := &Gate{opened: make(chan struct{})}
	close(g.opened)
	return g
}

// Shut stops all.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isOpen() {
		g.opened = make(chan struct{})
	}
}

// Open lets all pass.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isOpen() {
		close(g.opened)
	}
}

func (g *Gate) isOpen() bool {
	select {
	case <-g.opened:
		return true
	default:
		return false
	}
}

// Requests forwards requests once the gate is open.
func (g *Gate) Requests() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, _ <-chan struct{}) {
		if !g.pass(r.Context()) {
			abort()
		}
		next.ServeHTTP(w, r)
	}
}

// Events sends the events of watches through the gate.
func (g *Gate) Events() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, _ <-chan struct{}) {
		next.ServeHTTP(w, withEditor(r, editor{event: func() func(event) bool {
			return func(event) bool { return g.pass(r.Context()) }
		}}))
	}
}

// pass returns true when the gate is open, or false when the request has ended.
func (g *Gate) pass(ctx context.Context) bool {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	select {
	case <-opened:
		return true
	case <-ctx.Done():
		return false
	}
}
