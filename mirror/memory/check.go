package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// write identifies what is written: two equal ones repeat each other.
type write struct {
	kind     judge.OperationKind // Update stands for Create too, and Create for what is copied from another Work
	digest   render.Digest       // of the content, as the source has it
	notes    render.Notes        // on the content
	source   types.UID           // the source of the content
	work     types.UID           // the Work that is deleted, held, woken, amended, detached or released
	written  int64               // when the one that is deleted was last written but for its status, in Unix seconds
	recovery int64               // the recovery that it is woken for, in Unix seconds
}

func writeOf(v judge.Verdict, op judge.Operation) write {
	if op.From != nil { // unlike the same content by itself, it may be suspended
		w := write{kind: judge.Create, digest: op.From.Digest}
		if t := v.Targets[op.Cluster]; op.From.IsMadeFrom(t.UID()) {
			w.source = t.UID()
		}
		return w
	}
	if op.Kind.WritesContent() {
		t := v.Targets[op.Cluster]
		return write{kind: judge.Update, digest: t.Digest(), notes: t.Notes(), source: t.UID()}
	}
	w := write{kind: op.Kind, work: op.Work.UID}
	if t := v.Targets[op.Cluster]; op.Kind == judge.Adjust && t.Rendering != nil {
		w.digest = t.Digest()
	}
	if op.Kind.Deletes() {
		w.written = op.Work.Written().Unix()
	}
	if op.Kind == judge.Wake {
		w.recovery = v.Targets[op.Cluster].Wake.Unix()
	}
	return w
}

// contestedOf identifies a write for contests: what makes way for content, or stands in for it, counts as that content does.
func contestedOf(v judge.Verdict, op judge.Operation) write {
	if op.Kind == judge.Delete && op.Replaces || op.From != nil {
		op.Kind, op.From = judge.Update, nil
	}
	return writeOf(v, op)
}

// Holdback is why an operation should not be carried out now.
type Holdback struct {
	Refusal *judge.Refusal
	// Retry is when to sync again; 0 if there will be an event.
	Retry time.Duration
	// Notice is what to report, empty if it has been reported.
	Notice string
}

// Check reports whether an operation would be refused again, makes no difference, or is
// undone each time. It changes nothing: a caller that reports the notice must call Reported.
func (m *Memory) Check(v judge.Verdict, op judge.Operation) (Holdback, bool) {
	w, known, now := writeOf(v, op), m.read(v.ID, op.Cluster), m.clock.Now()
	if held, ok := known.parked.check(v, op, w, now); ok {
		return held, true
	}
	if op.Kind == judge.Update {
		if held, ok := known.expected.alters(op, w); ok {
			return held, true
		}
	}
	if op.Kind == judge.Wake && known.woken != nil {
		if known.woken.write == w {
			return Holdback{}, true
		}
		isForEvent := op.Work.IsWell() && w.recovery == op.Work.Written().Unix()
		if left := known.woken.rests(now); isForEvent && left > 0 {
			return Holdback{Retry: left}, true
		}
	}
	if op.Work == nil && known.ours.isToReplace(known.deleted) { // the member has nothing: what is held is the next deletion
		return Holdback{}, false
	}
	return m.contests.check(workKey{v.ID, op.Cluster}, contestedOf(v, op), now)
}

// Holds reports whether an operation should not be carried out now.
func (m *Memory) Holds(v judge.Verdict, op judge.Operation) bool {
	_, held := m.Check(v, op)
	return held
}

// Reported notes that a notice has been reported.
func (m *Memory) Reported(id render.Identity, cluster, notice string) {
	switch notice {
	case noticeAltered:
		m.change(id, cluster, func(w *work) {
			if w.expected != nil {
				reported := *w.expected
				reported.altered, reported.reported = true, true
				w.expected = &reported
			}
		})
	case noticeContested:
		m.contests.reported(workKey{id, cluster})
	}
}

// Repeat adds a write to the contest about a Work, as one that something undoes each time without an error.
func (m *Memory) Repeat(v judge.Verdict, op judge.Operation) {
	m.contests.count(workKey{v.ID, op.Cluster}, contestedOf(v, op), m.clock.Now())
}

// Receipt holds what matters of the API server's answer to a write.
type Receipt struct {
	Version    string
	Generation int64
}

// Wrote notes a write that succeeded.
func (m *Memory) Wrote(v judge.Verdict, op judge.Operation, answer Receipt) {
	wrote, now := writeOf(v, op), m.clock.Now()
	if key := (workKey{v.ID, op.Cluster}); op.Kind == judge.Delete && !op.Replaces {
		m.contests.deleted(key)
	} else {
		m.contests.count(key, contestedOf(v, op), now)
	}
	m.change(v.ID, op.Cluster, func(w *work) {
		if w.sending {
			next := &expectation{write: wrote, answer: answer, until: now.Add(AwaitCache)}
			if op.Kind == judge.Wake && w.expected.isAltered(op.Work) {
				next.content = w.expected
			}
			w.expected = next
		}
		w.parked, w.strangers = nil, nil
		if op.Kind == judge.Wake {
			w.woken = &wake{wrote, now.Add(wakesAge)}
		}
	})
}
