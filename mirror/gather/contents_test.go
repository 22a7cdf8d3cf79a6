package gather

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
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
			c.noteRead(at("7"))
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

// TestContentsOfAnotherVersion: a live read that began before the resource was watched in another version ends later.
func TestContentsOfAnotherVersion(t *testing.T) {
	in := func(apiVersion string) *state.Object {
		u := named(apiVersion, "Widget", "shop", "wheel")
		u.SetResourceVersion("7")
		return state.NewWholeObject(u)
	}
	c, watched := &contents{}, in("example.io/v2")
	c.noteRead(in("example.io/v1"))
	c.note(watched)
	c.noteRead(in("example.io/v1"))
	if c.of[watched.ID] != watched {
		t.Error("what is watched is not what is known")
	}
}

// TestContentsNeeding: the index follows what workloads need, and what is dropped.
func TestContentsNeeding(t *testing.T) {
	at := func(version, configMap string) *state.Object {
		u := named("v1", "Pod", "shop", "web")
		u.SetResourceVersion(version)
		u.Object["spec"] = map[string]any{"volumes": []any{map[string]any{"configMap": map[string]any{"name": configMap}}}}
		return state.NewWholeObject(u)
	}
	need := func(name string) render.Identity {
		return render.Identity{Kind: "ConfigMap", Namespace: "shop", Name: name}
	}
	c := &contents{}
	for _, step := range []struct {
		what     string
		do       func()
		old, now int
	}{
		{"it is known", func() { c.note(at("1", "old")) }, 1, 0},
		{"it has changed", func() { c.note(at("2", "new")) }, 0, 1},
		{"it is kept", func() { c.prune(func(*state.Object) bool { return true }) }, 0, 1},
		{"it is dropped", func() { c.prune(func(*state.Object) bool { return false }) }, 0, 0},
	} {
		if step.do(); len(c.withNeed(need("old"))) != step.old || len(c.withNeed(need("new"))) != step.now {
			t.Errorf("%s: %d need the old one, %d the new one", step.what, len(c.withNeed(need("old"))), len(c.withNeed(need("new"))))
		}
	}
	if len(c.needing) > 0 {
		t.Error("the index keeps what is dropped")
	}
}
