package karmada

import (
	"net"
	"testing"
)

func TestFreePorts(t *testing.T) {
	ports, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if port < firstPort || port > lastPort {
			t.Errorf("port %d is not between %d and %d", port, firstPort, lastPort)
		}
		if seen[port] {
			t.Errorf("port %d was given twice", port)
		}
		seen[port] = true
		listener, err := net.Listen("tcp", address(port))
		if err != nil {
			t.Errorf("port %d is not free: %v", port, err)
			continue
		}
		defer listener.Close()
	}
}
