package mirror

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	refusal := &Refusal{Reason: TooLarge, Message: "too large"}
	content := writeOf(Operation{Kind: Create}, template)
	written := entry{write: content, written: receipt{"10", 3}}
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
			entry{write: content, refusal: refusal}, retryRefused, 0, Operation{Kind: Create}, true},
		"RefusedLongAgo": {"and is tried again after a while",
			entry{write: content, refusal: refusal}, retryRefused, retryRefused + 1, Operation{Kind: Create}, false},
		"RefusedOtherContent": {"a change of the object wakes it",
			entry{write: write{kind: Update, source: hashUID(template.UID())}, refusal: refusal, size: template.Size() + 1}, retryRefused, 0, Operation{Kind: Create}, false},
		"RefusedAsLarge": {"unless what was too large is no smaller",
			entry{write: write{kind: Update, source: hashUID(template.UID())}, refusal: refusal, size: template.Size()}, retryRefused, 0, Operation{Kind: Create}, true},
		"DeleteOnItsWay": {"a delete is not repeated",
			entry{write: write{kind: Delete, work: "work-uid"}}, awaitCache, 0, Operation{Kind: Delete, Work: pageWork(source, "m1")}, true},
		"DeleteOfAnother": {"a Work that was created since is another",
			entry{write: write{kind: Delete, work: "an older"}}, awaitCache, 0, Operation{Kind: Delete, Work: pageWork(source, "m1")}, false},
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
			l.record(page, "m1", c.entry, c.hold)
			l.retain(page, nil)
			clock.Step(peace + 1)
			if l.prune(); len(l.entries)+len(l.contests) > 0 {
				t.Errorf("left behind: %v, %v", l.entries, l.contests)
			}
		})
	}
}

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
			if got := isOlder(tc.a, tc.b); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}

func TestLedgerDeletionLost(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1, 0))
	l := newLedger(clock)
	w := pageWork(pageSource("1", "m1"), "m1")
	l.record(page, "m1", entry{write: write{kind: Delete, work: w.UID}}, awaitCache)
	if !l.hasDeleted(page, w) {
		t.Error("a deletion on its way is not known")
	}
	namesake := *w
	if namesake.UID = "another"; l.hasDeleted(page, &namesake) {
		t.Error("the deletion of a Work is taken for that of one that was made since")
	}
	clock.Step(awaitCache)
	if l.hasDeleted(page, w) {
		t.Error("a deletion that has not come about is never tried again")
	}
}

func TestLedgerOverdue(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1, 0))
	l := newLedger(clock)
	source := pageSource("1", "m1")
	write := entry{write: writeOf(Operation{Kind: Create}, source.Template), written: receipt{"10", 1}}
	l.record(page, "m1", write, awaitCache)
	l.record(numbered(1), "m1", write, awaitCache)
	l.settle(pageWork(source, "m1", version("10")))
	expect := func(when string, want ...render.Identity) {
		t.Helper()
		if diff := cmp.Diff(want, l.overdue()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", when, diff)
		}
	}
	expect("at once")
	clock.Step(awaitCache)
	expect("in due time", numbered(1))
	expect("once it has been told")
	l.record(numbered(1), "m1", write, awaitCache)
	expect("written again")
	clock.Step(awaitCache)
	expect("in due time again", numbered(1))
}

func TestLedgerSaysOnceThatAdmissionAlters(t *testing.T) {
	source := pageSource("1", "m1")
	l := newLedger(clocktesting.NewFakeClock(time.Unix(1, 0)))
	update := Operation{Kind: Update, Cluster: "m1"}
	l.record(page, "m1", entry{write: writeOf(update, source.Template), written: receipt{"10", 3}}, awaitCache)
	for i, version10 := range []string{"10", "10", "11"} { // 11: Karmada's status
		update.Work = pageWork(source, "m1", edited, version(version10), generation(3))
		held, ok := l.check(page, update, source.Template)
		if said := held.notice == noticeAltered; !ok || said != (i == 0) {
			t.Errorf("look %d: held back %v, said %q", i, ok, held.notice)
		}
	}
}

// TestLedgerContest has somebody undo each write at once, in one of the ways.
func TestLedgerContest(t *testing.T) {
	source := pageSource("1", "m1")
	for name, undo := range map[string]func(*ledger) Operation{
		"EditedLater": func(l *ledger) Operation {
			l.settle(pageWork(source, "m1", version("10"), generation(3)))
			return Operation{Kind: Update, Work: pageWork(source, "m1", edited, version("11"), generation(9))}
		},
		"Edited": func(*ledger) Operation {
			return Operation{Kind: Update, Work: pageWork(source, "m1", edited, version("11"), generation(9))}
		},
		"Deleted": func(l *ledger) Operation {
			l.forget(page, "m1")
			return Operation{Kind: Create}
		},
		"Unlabelled": func(l *ledger) Operation {
			l.forget(page, "m1")
			w := pageWork(source, "m1", edited)
			l.record(page, "m1", entry{unlisted: w}, awaitCache)
			return Operation{Kind: Update, Work: w}
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Unix(1, 0))
			l := newLedger(clock)
			// fight writes for as long as it may, and returns how often it did.
			fight := func(d time.Duration) (writes, notices int) {
				for end := clock.Now().Add(d); clock.Now().Before(end); {
					op := undo(l)
					op.Cluster = "m1"
					held, ok := l.check(page, op, source.Template)
					if held.notice != "" {
						notices++
					}
					if ok {
						clock.Step(min(held.retry, end.Sub(clock.Now())))
						continue
					}
					l.record(page, "m1", entry{write: writeOf(op, source.Template), written: receipt{"10", 3}}, awaitCache)
					writes++
				}
				return writes, notices
			}
			if writes, notices := fight(15 * time.Second); writes != uncontested+3 || notices != 4 { // after 1, 3 and 7 s
				t.Errorf("%d writes and %d notices in the first seconds", writes, notices)
			}
			fight(15 * time.Minute)
			if writes, notices := fight(time.Hour); writes != 12 || notices != 12 {
				t.Errorf("%d writes and %d notices in an hour of a long contest", writes, notices)
			}
			clock.Step(peace)
			if writes, _ := fight(minContested); writes != uncontested {
				t.Errorf("%d writes at once after some minutes of peace", writes)
			}
		})
	}
}

func TestLedgerSettles(t *testing.T) {
	source := pageSource("1", "m1")
	content := writeOf(Operation{Kind: Create}, source.Template)
	written := entry{write: content, written: receipt{"10", 3}}
	for name, c := range map[string]struct {
		reason string
		entry  entry
		work   *Work
		want   bool
	}{
		"Echo":     {"the watch shows what was written", written, pageWork(source, "m1", version("10"), generation(3)), true},
		"Later":    {"Karmada has added its status already", written, pageWork(source, "m1", version("12"), generation(3)), true},
		"Earlier":  {"the watch shows what was there before", written, pageWork(source, "m1", version("9"), generation(2)), false},
		"Altered":  {"admission has made something else of it", written, pageWork(source, "m1", edited, version("10"), generation(3)), false},
		"Remarked": {"somebody has changed what is ours", written, pageWork(source, "m1", remarked, version("11"), generation(3)), false},
		"Marked":   {"the breaker has marked it meanwhile", written, pageWork(source, "m1", marked, version("11"), generation(3)), false},
		"Going":    {"somebody has deleted it meanwhile", written, pageWork(source, "m1", terminating, version("11"), generation(4)), false},
		"Refused":  {"nothing was written", entry{write: content, refusal: &Refusal{Reason: TooLarge, Message: "too large"}}, pageWork(source, "m1", version("10")), false},
		"Deleted":  {"a deletion comes about when the Work is gone", entry{write: write{kind: Delete, work: "work-uid"}}, pageWork(source, "m1", version("11")), false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(clocktesting.NewFakeClock(time.Unix(1, 0)))
			l.record(page, "m1", c.entry, awaitCache)
			if got := l.settle(c.work); got != c.want || len(l.entries) == 0 != c.want {
				t.Errorf("%s: settled %v, entries %v", c.reason, got, l.entries)
			}
		})
	}
}
