package daemon

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/watch"
)

// TestResourceStatus: a watch that begins again is no news, and why one fails is said without what the API server quotes.
func TestResourceStatus(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		of     watch.Status
		state  watch.State
		reason string
	}{
		"Ready":      {watch.Status{State: watch.Ready}, watch.Ready, ""},
		"Pending":    {watch.Status{State: watch.Pending, Unserved: true}, watch.Pending, ""},
		"Restarts":   {watch.Status{State: watch.Degraded, Err: errors.New("lost"), ErrSince: now.Add(-brief / 2)}, watch.Ready, ""},
		"Fails":      {watch.Status{State: watch.Degraded, Err: errors.New("lost"), ErrSince: now.Add(-2 * brief)}, watch.Degraded, "lost"},
		"NeverBegan": {watch.Status{State: watch.Syncing, Err: errors.New("lost"), ErrSince: now}, watch.Syncing, "lost"},
		"Long":       {watch.Status{State: watch.Syncing, Err: errors.New(strings.Repeat("ü", 2000)), ErrSince: now}, watch.Syncing, strings.Repeat("ü", maxStatusMessage)},
	} {
		if got := resourceStatus("pages", c.of); got.State != c.state || got.Reason != c.reason || (got.Since != nil) != (c.reason != "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestLongConfiguration: a ConfigMap has room for a configuration that is nearly as large as another can hold.
func TestLongConfiguration(t *testing.T) {
	for size, isRepeated := range map[int]bool{100: true, maxStatusParts + 1: false} {
		d := &daemon{}
		d.rejects(nil, errDeleted)
		d.accepted(&configuration{parts: config.Parts{"a": strings.Repeat("x", size)}})
		if now := d.inForce.Load(); now.Hash == "" || (now.Parts != nil) != isRepeated || d.rejected.Load() != nil {
			t.Errorf("of %d bytes: %t", size, now.Parts != nil)
		}
	}
}

// TestHash: it tells parts from others that read the same side by side.
func TestHash(t *testing.T) {
	hashes := map[string]bool{}
	for _, parts := range []config.Parts{nil, {"a": ""}, {"": "a"}, {"a": "b"}, {"a": "b", "c": "d"}, {"a": "b\"\n\"c\" \"d"}, {"a": "d", "c": "b"}} {
		hashes[HashOf(parts)] = true
	}
	if len(hashes) != 7 {
		t.Errorf("seven parts have %d hashes", len(hashes))
	}
}

// TestStatusOf: there may be none yet, and another version may have written it.
func TestStatusOf(t *testing.T) {
	for text, want := range map[string]bool{"leader: one\nfuture: 1\n": true, "a: [": false} {
		if s, err := StatusOf(&corev1.ConfigMap{Data: map[string]string{statusKey: text}}); (err == nil && s.Leader == "one") != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	if s, err := StatusOf(&corev1.ConfigMap{}); s != nil || err != nil {
		t.Errorf("of nothing: %v, %v", s, err)
	}
}
