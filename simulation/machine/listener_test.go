package machine

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// listener accepts connections within the process.
type listener struct {
	dialed chan net.Conn
	closed chan struct{}
	close  func()
}

func newListener() *listener {
	l := &listener{dialed: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialed:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error { l.close(); return nil }

// Addr implements net.Listener.
func (*listener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (l *listener) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.dialed <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// get asks one of a replica's servers.
func (r *replica) get(address, path string) (code int, text string, err error) {
	client := &http.Client{Transport: &http.Transport{DialContext: r.current.listeners[address].dial, DisableKeepAlives: true}}
	response, err := client.Get("http://replica" + path)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// series is the value of a series, as /metrics has it; 0 if it does not exist.
func (r *replica) series(name string) (float64, error) {
	_, text, err := r.get(":8080", "/metrics")
	for line := range strings.Lines(text) {
		if value, is := strings.CutPrefix(line, name+" "); is {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, err
}

// isReady checks whether a replica says so.
func (r *replica) isReady() error {
	code, text, err := r.get(":8081", "/readyz?verbose")
	if err == nil && code != http.StatusOK {
		return fmt.Errorf("replica %s is not ready: %s", r.name, text)
	}
	return err
}

// unready checks that all replicas say that they are not ready, and why.
func (m *machine) unready(texts ...string) act {
	return func() error {
		for _, r := range m.replicas {
			err := r.isReady()
			if err == nil || slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(err.Error(), text) }) {
				return fmt.Errorf("it is not %q that keeps a replica from being ready, but: %v", texts, err)
			}
		}
		return nil
	}
}
