package karmada

import (
	"net"
	"testing"
)

// TestPorts lets two sandboxes take all of a few ports: one port already has a
// listener, and the others get none until all are taken.
func TestPorts(t *testing.T) {
	// No sandbox that runs beside the test takes these ports.
	const first, last = 19001, 19005
	one, other := &ports{first: first, last: last}, &ports{first: first, last: last}
	t.Cleanup(func() {
		if err := other.release(); err != nil {
			t.Error(err)
		}
	})
	listener, err := net.Listen("tcp", address(first))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	seen := map[int]bool{first: true}
	for range 2 {
		for _, sandbox := range []*ports{one, other} {
			taken, err := sandbox.take(1)
			if err != nil {
				t.Fatal(err)
			}
			if seen[taken[0]] || taken[0] < first || taken[0] > last {
				t.Errorf("port %d is not free", taken[0])
			}
			seen[taken[0]] = true
		}
	}
	if taken, err := one.take(1); err == nil {
		t.Errorf("port %v was found although all are taken", taken)
	}
	if err := one.release(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.take(2); err != nil {
		t.Errorf("a stopped sandbox keeps its ports: %v", err)
	}
}
