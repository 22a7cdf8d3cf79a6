package state

import "testing"

// TestIsOlder: a version that cannot be compared is not older than anything.
func TestIsOlder(t *testing.T) {
	cases := map[string]struct {
		reason string
		a, b   string
		want   bool
	}{
		"Older":   {"versions are compared as numbers, not as text", "9", "10", true},
		"Newer":   {"the other way round", "10", "9", false},
		"Same":    {"the same is not older", "10", "10", false},
		"Nothing": {"the cache has no version before its first list", "", "10", false},
		"NoForm":  {"another API server may use any format", "x9", "10", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := IsOlder(tc.a, tc.b); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}
