package state

import (
	"testing"
	"unsafe"
)

// TestSizes: of these there are very many, and each takes a size of the allocator that the
// next field may go beyond.
func TestSizes(t *testing.T) {
	if got := unsafe.Sizeof(Object{}); got > 144 {
		t.Errorf("an Object takes %d bytes, more than 144", got)
	}
	if got := unsafe.Sizeof(Work{}); got > 256 {
		t.Errorf("a Work takes %d bytes, more than 256", got)
	}
}
