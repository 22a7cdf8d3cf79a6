package e2e

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/model"
)

// FaultRow measures one row of docs/reliability.md. It judges by the API server: the
// objects at the end, and the deletions in the audit log.
type FaultRow struct {
	T         *testing.T
	Name      string
	Namespace string
	// Audit covers the requests of the test's daemons since the row began.
	Audit AuditLog
	// Healed is when the fault ended.
	Healed time.Time
	// Daemon is kept running while the row converges; nil if the daemon must not end.
	Daemon *Supervised
	// Note is the remark in the table.
	Note string

	resources []schema.GroupVersionResource
	// due are the Works that may be deleted, as namespace/name, and since when; until is
	// the offset in the audit log where the row ends.
	due   map[string]time.Time
	until int64
}

// NewFault starts a row for the sources in a namespace: ConfigMaps, and objects of the
// other given resources. Deletions count until the test's daemons have ended, or until
// [FaultRow.End] if the test calls it.
func NewFault(t *testing.T, name, namespace string, others ...schema.GroupVersionResource) *FaultRow {
	t.Helper()
	f := &FaultRow{
		T: t, Name: name, Namespace: namespace,
		resources: append(others, ConfigMaps),
		Audit:     AuditFromNow(t),
		due:       map[string]time.Time{},
		until:     math.MaxInt64,
	}
	Env.mu.Lock()
	defer Env.mu.Unlock()
	Env.faults[t.Name()] = append(Env.faults[t.Name()], f)
	return f
}

// Allow notes that the Works of a source may be deleted from now on. On a nil row it does
// nothing.
func (f *FaultRow) Allow(id render.Identity, clusters ...string) {
	if f == nil {
		return
	}
	now, key := time.Now(), model.Key{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
	for _, cluster := range clusters {
		work := WorkKey(cluster, key)
		if _, known := f.due[work]; !known {
			f.due[work] = now
		}
	}
}

// Heal notes that the fault has ended: the time to converge counts from here.
func (f *FaultRow) Heal() { f.Healed = time.Now() }

// End notes that later deletions no longer belong to the row.
func (f *FaultRow) End() {
	f.T.Helper()
	f.until = auditSize(f.T)
}

// WantNoDeletes fails the test if a Work was deleted that must not be.
func (f *FaultRow) WantNoDeletes() {
	f.T.Helper()
	if wrong := f.WrongDeletes(); len(wrong) > 0 {
		f.T.Errorf("%s: the daemon deleted %q", f.Name, wrong)
	}
}

// WrongDeletes lists the Works that were deleted but must not be.
func (f *FaultRow) WrongDeletes() []string {
	f.T.Helper()
	var wrong []string
	for _, d := range f.Audit.deletions(f.T, f.until) {
		if since, isDue := f.due[shortKey(d.work)]; !isDue || d.asked.Before(since) {
			wrong = append(wrong, d.work)
		}
	}
	return wrong
}

// rereadFaults checks again for wrong deletions when a daemon of the test has ended: a
// deletion after everything was in sync is just as wrong.
func rereadFaults(t *testing.T) {
	t.Helper()
	Env.mu.Lock()
	var rows []*FaultRow
	for name, of := range Env.faults {
		if name == t.Name() || strings.HasPrefix(name, t.Name()+"/") {
			rows = append(rows, of...)
		}
	}
	Env.mu.Unlock()
	for _, f := range rows {
		if wrong := f.WrongDeletes(); len(wrong) > 0 {
			t.Errorf("%s: by its end the daemon had deleted %q", f.Name, wrong)
		}
	}
}

// Converge waits until every wanted Work exists and is correct, and there is no other, and
// writes the row.
func (f *FaultRow) Converge(limit time.Duration) {
	f.T.Helper()
	if f.Healed.IsZero() {
		f.Heal()
	}
	ctx, cancel := context.WithTimeout(f.T.Context(), limit)
	defer cancel()
	err := Env.Wait(ctx, "the Works to be as wanted", func(ctx context.Context) error {
		if f.Daemon != nil {
			f.Daemon.Ensure(f.T)
		}
		return Disagreement(ctx, f.Namespace, f.resources...)
	})
	took := time.Since(f.Healed)
	var lost *LostWorks
	r := Row{Fault: f.Name, WrongDeletes: len(f.WrongDeletes()), Converged: took, Note: f.Note}
	if errors.As(err, &lost) {
		r.Lost = lost.Count()
	}
	Env.rows.add(r)
	f.WantNoDeletes()
	Must(f.T, err)
	f.T.Logf("%s: in sync %s after the fault ended", f.Name, took.Round(10*time.Millisecond))
}

// Remark changes the remark of a row that has already converged.
func (f *FaultRow) Remark(note string) {
	f.Note = note
	Env.rows.note(f.Name, note)
}
