package gather

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// TestContents: a known content is used if it is not older than what the cache has.
func TestContents(t *testing.T) {
	at := func(version string) *state.Object {
		u := sample.Object(nil)
		u.SetResourceVersion(version)
		return state.NewWholeObject(u)
	}
	for name, tc := range map[string]struct {
		reason, cached string
		known          bool
	}{
		"Same":         {"it is the same", "7", true},
		"Newer":        {"a live read has seen what the cache will", "6", true},
		"Older":        {"it has changed since", "8", false},
		"Incomparable": {"the versions cannot be compared", "abc", false},
	} {
		t.Run(name, func(t *testing.T) {
			c, whole := &contents{}, at("7")
			c.note(whole)
			c.note(at("6")) // a watch that lags
			cached := at(tc.cached)
			cached.Content = nil
			if got := c.complete(cached); (got == whole) != tc.known || !tc.known && got != cached {
				t.Errorf("%s: at %s", tc.reason, got.ResourceVersion)
			}
			c.prune(func(*state.Object) bool { return false })
			if got := c.complete(cached); got != cached {
				t.Error("a pruned content is still known")
			}
		})
	}
}
