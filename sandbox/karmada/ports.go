package karmada

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// host is the only address that anything here listens on.
const host = "127.0.0.1"

// Ports are below the ranges that Linux and macOS use for the local ports of outgoing
// connections: otherwise a client's connection could take the port of a component that
// restarts.
const firstPort, lastPort = 20000, 29999

// ports are the TCP ports of a sandbox. Between choosing a port and listening on it,
// and while the component restarts, nothing shows that the port is taken. So the UDP
// port of the same number, which no component uses, is held from Start to Stop. The
// system frees it if the process is killed.
type ports struct {
	first, last int

	mu   sync.Mutex
	held []net.PacketConn
}

// take returns n ports that nothing listens on and that no other sandbox has taken.
func (p *ports) take(n int) ([]int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var taken []int
	for _, candidate := range rand.Perm(p.last - p.first + 1) {
		if len(taken) == n {
			break
		}
		port := p.first + candidate
		hold, err := net.ListenPacket("udp", address(port))
		if err != nil {
			continue
		}
		if !isFree(port) {
			_ = hold.Close()
			continue
		}
		p.held = append(p.held, hold)
		taken = append(taken, port)
	}
	if len(taken) < n {
		return nil, fmt.Errorf("cannot find %d free ports between %d and %d", n, p.first, p.last)
	}
	return taken, nil
}

// release frees the ports for others.
func (p *ports) release() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, hold := range p.held {
		errs = append(errs, hold.Close())
	}
	p.held = nil
	return errors.Join(errs...)
}

func isFree(port int) bool {
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

func httpsURL(port int) string { return "https://" + address(port) }
