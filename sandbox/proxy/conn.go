package proxy

import (
	"net"
	"sync"
)

// listener keeps track of its connections, and can stop all bytes.
type listener struct {
	net.Listener

	mu    sync.Mutex
	conns map[*conn]bool
	// flowing is closed while bytes may pass.
	flowing chan struct{}
	frozen  bool
}

func newListener(bare net.Listener) *listener {
	l := &listener{Listener: bare, conns: map[*conn]bool{}, flowing: make(chan struct{})}
	close(l.flowing)
	return l
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	bare, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: bare, listener: l, closed: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = true
	return c, nil
}

func (l *listener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

func (l *listener) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.frozen {
		l.frozen, l.flowing = true, make(chan struct{})
	}
}

func (l *listener) thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frozen {
		l.frozen = false
		close(l.flowing)
	}
}

// cut resets all connections: peers see RST instead of an orderly close.
func (l *listener) cut() {
	l.mu.Lock()
	conns := l.conns
	l.conns = map[*conn]bool{}
	l.mu.Unlock()
	for c := range conns {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a connection that is already closed counts as cut
		}
		_ = c.Close()
	}
}

func (l *listener) gate() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flowing
}

// conn holds back what it has read and what it writes while its listener is
// frozen.
type conn struct {
	net.Conn
	listener *listener
	close    sync.Once
	closed   chan struct{}
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, c.pass(err)
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.pass(nil); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

func (c *conn) pass(err error) error {
	select {
	case <-c.listener.gate():
		return err
	case <-c.closed:
		return net.ErrClosed
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.close.Do(func() { close(c.closed) })
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
