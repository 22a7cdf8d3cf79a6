package daemon

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// maxConnections is how many connections a server keeps, far more than Prometheus and a kubelet need. One takes some 25 kB.
const maxConnections = 256

// connections bounds those of a server. The one that has waited longest, for a request or for the rest of it, makes room for
// the next: one that sends its request at once is served, however many others do not.
type connections struct {
	mu      sync.Mutex
	waiting []net.Conn
	serving int
}

type connectionKey struct{}

// bound makes a server keep no more of them.
func (c *connections) bound(server *http.Server) {
	handler := server.Handler
	server.ConnState = c.note
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, conn)
	}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _ := r.Context().Value(connectionKey{}).(net.Conn)
		c.serve(conn)
		defer c.served()
		handler.ServeHTTP(w, r)
	})
}

// note follows a connection while no request of it is served.
func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew, http.StateIdle:
		c.waiting = append(c.waiting, conn)
		if len(c.waiting)+c.serving > maxConnections {
			go c.waiting[0].Close() // TLS says goodbye, which takes a while
			c.waiting = c.waiting[1:]
		}
	case http.StateClosed:
		c.leave(conn)
	}
}

func (c *connections) serve(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(conn)
	c.serving++
}

func (c *connections) served() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serving--
}

func (c *connections) leave(conn net.Conn) {
	c.waiting = slices.DeleteFunc(c.waiting, func(other net.Conn) bool { return other == conn })
}
