package fault

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Only sandbox/e2e/machine uses what is in this file: it goes with it.

// Gate holds back the events of watches while it is shut. It passes them on in order when it
// opens.
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

// Events sends the events of watches through the gate.
func (g *Gate) Events() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, _ <-chan struct{}) {
		next.ServeHTTP(w, withFilter(r, func() bool { return g.pass(r.Context()) }))
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

type filterKey struct{}

func withFilter(r *http.Request, pass func() bool) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), filterKey{}, pass))
}

// filterResponse sends the events of a watch through the filter that the request carries.
func filterResponse(response *http.Response) error {
	pass, ok := response.Request.Context().Value(filterKey{}).(func() bool)
	if !ok || response.StatusCode != http.StatusOK || response.Request.URL.Query().Get("watch") == "" {
		return nil
	}
	body := response.Body
	reader, writer := io.Pipe()
	go func() {
		lines := bufio.NewReader(body)
		for {
			line, err := lines.ReadBytes('\n')
			if len(line) > 0 && pass() {
				if _, err := writer.Write(line); err != nil {
					return
				}
			}
			if err != nil {
				writer.CloseWithError(err)
				return
			}
		}
	}()
	response.Body, response.ContentLength = filtered{reader, body}, -1
	response.Header.Del("Content-Length")
	return nil
}

// filtered also closes the response that it reads from.
type filtered struct {
	*io.PipeReader
	body io.Closer
}

func (f filtered) Close() error {
	_ = f.PipeReader.Close() // never fails
	return f.body.Close()
}

// Expire ends watches with 410: the version that they resume from is too old.
// Streaming lists start from scratch and pass. For any other request that
// matches, the answer is a lie: 200, and nothing was done.
func Expire() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, _ <-chan struct{}) {
		if isStreamingList(r) {
			next.ServeHTTP(w, r)
			return
		}
		status := apierrors.NewResourceExpired("too old resource version").Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "ERROR", "object": status})
	}
}

func isStreamingList(r *http.Request) bool { return r.URL.Query().Get("sendInitialEvents") == "true" }

// End ends the matching requests that are being answered, so that the client
// sends them again.
func (p *Proxy) End(m Match) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.open {
		if m.matches(s.info) {
			s.cancel()
		}
	}
}

// Open counts the matching requests that have no answer yet.
func (p *Proxy) Open(m Match) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.open {
		if m.matches(s.info) {
			n++
		}
	}
	return n
}
