package daemon

import (
	"errors"
	"reflect"
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

// TestLongStatus: whatever a configuration is made of, the status fits into a ConfigMap, and what is in it can be read again.
func TestLongStatus(t *testing.T) {
	for name, text := range map[string]string{"short": "a: b\n", "lines": strings.Repeat("a\n", 1<<18), "long": strings.Repeat("x", 1<<20-1), "umlauts": strings.Repeat("# ü\t\n", 1<<16)} {
		d := &daemon{}
		d.rejects(nil, errors.New(strings.Repeat("x", 1<<20)))
		d.accepted(&configuration{parts: config.Parts{config.Key: text}})
		s := &Status{Leader: "one", Configuration: *d.inForce.Load(), Rejected: d.rejected.Load()}
		for range 1000 {
			s.Resources = append(s.Resources, resourceStatus("pages", watch.Status{State: watch.Syncing, Err: errors.New("lost"), ErrSince: time.Now()}))
		}
		encoded, err := s.encode()
		if err != nil || len(encoded) > 1<<20 || s.Rejected != nil {
			t.Errorf("%s: %d bytes, %v", name, len(encoded), err)
		}
		read, err := StatusOf(&corev1.ConfigMap{Data: map[string]string{statusKey: string(encoded)}})
		if err != nil || read.Configuration.Hash != HashOf(s.Configuration.Parts) || read.Configuration.Parts != nil && read.Configuration.Parts[config.Key] != text || name == "short" && read.Configuration.Parts == nil {
			t.Errorf("%s: it is not what was written: %v", name, err)
		}
	}
}

// TestSameReasons: why a watch fails may differ at each attempt, and is no news.
func TestSameReasons(t *testing.T) {
	of := func(state watch.State, reason string) *Status {
		return &Status{Resources: []ResourceStatus{{Resource: "pages", State: state, Reason: reason}}}
	}
	if one := of(watch.Degraded, "stream 1"); !reflect.DeepEqual(one.withoutReasons(), of(watch.Degraded, "stream 3").withoutReasons()) || one.Resources[0].Reason == "" ||
		reflect.DeepEqual(one.withoutReasons(), of(watch.Syncing, "stream 1").withoutReasons()) {
		t.Error("a reason is news, or is lost, or a state is no news")
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
