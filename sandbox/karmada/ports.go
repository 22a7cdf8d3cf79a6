package karmada

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// host is the only address anything here listens on.
const host = "127.0.0.1"

// Ports come from below the ranges that Linux and macOS take the local ports of
// outgoing connections from: with those, a component that restarts could find
// its port taken by some client's connection.
const firstPort, lastPort = 20000, 29999

// freePorts returns n ports that nobody listens on. They are held until all
// are found, so that they differ.
func freePorts(n int) (ports []int, err error) {
	var held []net.Listener
	defer func() {
		for _, listener := range held {
			err = errors.Join(err, listener.Close())
		}
	}()
	candidates := rand.Perm(lastPort - firstPort + 1)
	for _, candidate := range candidates {
		if len(ports) == n {
			break
		}
		port := firstPort + candidate
		listener, listenErr := net.Listen("tcp", address(port))
		if listenErr != nil {
			continue
		}
		held = append(held, listener)
		ports = append(ports, port)
	}
	if len(ports) < n {
		return nil, fmt.Errorf("cannot find %d free ports between %d and %d", n, firstPort, lastPort)
	}
	return ports, nil
}

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

func httpsURL(port int) string { return "https://" + address(port) }
