package state

import (
	"testing"
	"unsafe"
)

// TestSizes: there are very many of these, and one more field may push each to the next size
// of the allocator.
func TestSizes(t *testing.T) {
	if got := unsafe.Sizeof(Object{}); got > 144 {
		t.Errorf("an Object takes %d bytes, more than 144", got)
	}
	if got := unsafe.Sizeof(Work{}); got > 288 {
		t.Errorf("a Work takes %d bytes, more than 288", got)
	}
}
