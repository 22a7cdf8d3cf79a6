package state

import "testing"

// TestIsOlder: versions that cannot be compared are not older than anything.
func TestIsOlder(t *testing.T) {
	cases := map[string]struct {
		reason string
		a, b   string
		want   bool
	}{
		"Older":   {"they are numbers, and not text", "9", "10", true},
		"Newer":   {"the other way round", "10", "9", false},
		"Same":    {"the same is not older", "10", "10", false},
		"Nothing": {"a cache that has not been listed", "", "10", false},
		"NoForm":  {"another API server may write what it likes", "x9", "10", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := IsOlder(tc.a, tc.b); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}
