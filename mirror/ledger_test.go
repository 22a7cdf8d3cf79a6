package mirror

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/render"
)

func version(v string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) { u.SetResourceVersion(v) }
}

// generation is that of a Work whose spec has changed so often.
func generation(n int64) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) { u.SetGeneration(n) }
}

// remarked is a Work of which somebody has changed an annotation of ours.
func remarked(u *unstructured.Unstructured) {
	u.SetAnnotations(map[string]string{render.SourceAnnotation: page.String(), render.SourceUIDAnnotation: "another"})
}

func TestLedger(t *testing.T) {
	source := pageSource("1", "m1")
	template := source.Template
	refusal := &Refusal{TooLarge, "too large"}
	written := entry{kind: Create, digest: template.Digest(), source: template.UID(), written: receipt{"10", 3}}
	cases := map[string]struct {
		reason  string
		entry   entry
		hold    time.Duration
		elapsed time.Duration
		op      Operation
		held    bool
	}{
		"CreateOnItsWay": {"a create is not repeated before the watch has shown it",
			written, awaitCache, 0, Operation{Kind: Create}, true},
		"CreateLost": {"but it is, when the watch never does",
			written, awaitCache, awaitCache + 1, Operation{Kind: Create}, false},
		"UpdateOnItsWay": {"the cache shows the Work from before our write",
			written, awaitCache, 0, Operation{Kind: Update, Work: pageWork(source, "m1", edited, version("9"), generation(2))}, true},
		"EditedSince": {"somebody has changed the Work after our write",
			written, awaitCache, 0, Operation{Kind: Update, Work: pageWork(source, "m1", edited, version("11"), generation(4))}, false},
		"Altered": {"admission made something else of our write: no ping-pong, ever",
			written, awaitCache, time.Hour, Operation{Kind: Update, Work: pageWork(source, "m1", edited, version("10"), generation(3))}, true},
		"MarkedSince": {"somebody has changed what is not the spec, which the generation does not count",
			written, awaitCache, 0, Operation{Kind: Update, Work: pageWork(source, "m1", remarked, version("11"), generation(3))}, false},
		"AlteredAndMarkedSince": {"though admission alters the spec as well",
			written, awaitCache, 0, Operation{Kind: Update, Work: pageWork(source, "m1", edited, remarked, version("11"), generation(3))}, false},
		"Refused": {"a write refused for good is not repeated in vain",
			entry{kind: Create, digest: template.Digest(), source: template.UID(), refusal: refusal}, retryRefused, 0, Operation{Kind: Create}, true},
		"RefusedLongAgo": {"and is tried again after a while",
			entry{kind: Create, digest: template.Digest(), source: template.UID(), refusal: refusal}, retryRefused, retryRefused + 1, Operation{Kind: Create}, false},
		"RefusedOtherContent": {"a change of the object wakes it",
			entry{kind: Create, source: template.UID(), refusal: refusal}, retryRefused, 0, Operation{Kind: Create}, false},
		"DeleteOnItsWay": {"a delete is not repeated",
			entry{kind: Delete, work: "work-uid"}, awaitCache, 0, Operation{Kind: Delete, Work: pageWork(source, "m1")}, true},
		"DeleteOfAnother": {"a Work that was created since is another",
			entry{kind: Delete, work: "an older"}, awaitCache, 0, Operation{Kind: Delete, Work: pageWork(source, "m1")}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Unix(1, 0))
			l := newLedger(clock)
			l.record(page, "m1", c.entry, c.hold)
			clock.Step(c.elapsed)
			c.op.Cluster = "m1"
			if _, held := l.check(page, c.op, template); held != c.held {
				t.Errorf("%s: held back: %v", c.reason, held)
			}
			l.forget(page, "m1")
			if _, held := l.check(page, c.op, template); held {
				t.Error("held back by what was forgotten")
			}
			if len(l.entries) > 0 {
				t.Errorf("left behind: %v", l.entries)
			}
		})
	}
}

func TestLedgerDeletionLost(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1, 0))
	l := newLedger(clock)
	w := pageWork(pageSource("1", "m1"), "m1")
	l.record(page, "m1", entry{kind: Delete, work: w.UID}, awaitCache)
	if !l.hasDeleted(page, w) {
		t.Error("a deletion on its way is not known")
	}
	clock.Step(awaitCache)
	if l.hasDeleted(page, w) {
		t.Error("a deletion that has not come about is never tried again")
	}
}

func TestLedgerSaysOnceThatAdmissionAlters(t *testing.T) {
	source := pageSource("1", "m1")
	l := newLedger(clocktesting.NewFakeClock(time.Unix(1, 0)))
	l.record(page, "m1", entry{kind: Update, digest: source.Template.Digest(), source: "1", written: receipt{"10", 3}}, awaitCache)
	for i, version10 := range []string{"10", "10", "11"} { // 11: Karmada's status
		held, ok := l.check(page, Operation{Kind: Update, Cluster: "m1", Work: pageWork(source, "m1", edited, version(version10), generation(3))}, source.Template)
		if !ok || held.altered != (i == 0) {
			t.Errorf("look %d: held back %v, said %v", i, ok, held.altered)
		}
	}
}
