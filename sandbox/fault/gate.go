package fault

import (
	"context"
	"net/http"
	"sync"
)

// Gate holds back the events of watches while it is shut. What it has held back passes in
// its order when it is opened.
type Gate struct {
	mu     sync.Mutex
	opened chan struct{} // closed while it is open
}

// NewGate makes one that is open.
func NewGate() *Gate {
	g := &Gate{opened: make(chan struct{})}
	close(g.opened)
	return g
}

// Shut lets no event pass any more.
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

// Fault has the events of watches go through the gate.
func (g *Gate) Fault() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, _ <-chan struct{}) {
		next.ServeHTTP(w, withEditor(r, editor{event: func() func(event) bool {
			return func(event) bool { return g.pass(r.Context()) }
		}}))
	}
}

// pass returns when the gate is open, and true, or when the watch has ended.
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
