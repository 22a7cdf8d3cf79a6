package bench

import (
	"strings"
	"testing"
)

// TestSkipLines: an event is a line, and a watch that ends early is an error.
func TestSkipLines(t *testing.T) {
	from := strings.NewReader("one\ntwo\nthree\n")
	if err := skipLines(from, 2); err != nil {
		t.Errorf("skipLines() = %v", err)
	}
	if err := skipLines(strings.NewReader("one\n"), 2); err == nil {
		t.Error("skipLines() = nil for a watch that ends early")
	}
}
