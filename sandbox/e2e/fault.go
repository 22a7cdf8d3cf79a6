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

// FaultRow is the measuring of one row of docs/reliability.md. What it judges by is
// the API server: what is there in the end, and what the audit log says was
// deleted on the way.
type FaultRow struct {
	T         *testing.T
	Name      string
	Namespace string
	// Audit is of what the test's daemons do from the beginning of the row on.
	Audit AuditLog
	// Healed is when the fault was over.
	Healed time.Time
	// Daemon is kept running while the row converges; nil if it must not end.
	Daemon *Supervised
	// Note is the remark.
	Note string

	resources []schema.GroupVersionResource
	// due are the Works that may be deleted, as namespace/name, and since when; until is
	// where in the audit log the row ends.
	due   map[string]time.Time
	until int64
}

// NewFault measures the sources of a namespace: ConfigMaps, and objects of the
// other resources that are given. What is deleted until the test's daemons have ended
// counts, unless [FaultRow.End] says where the row does.
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

// Allow notes that from now on the Works of a source may be deleted. Of no row it notes
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

// Heal notes that the fault is over: from here on time counts.
func (f *FaultRow) Heal() { f.Healed = time.Now() }

// End notes that what comes now is not of the row any more.
func (f *FaultRow) End() {
	f.T.Helper()
	f.until = auditSize(f.T)
}

// WantNoDeletes fails the test if a Work was deleted that had to stay.
func (f *FaultRow) WantNoDeletes() {
	f.T.Helper()
	if wrong := f.WrongDeletes(); len(wrong) > 0 {
		f.T.Errorf("%s: the daemon deleted %q", f.Name, wrong)
	}
}

// WrongDeletes are the Works that were deleted, and had to stay.
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

// rereadFaults looks once more for wrong deletions, when a daemon of the test has ended:
// one that was made after everything was in sync is as wrong.
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
			t.Errorf("%s: until its end the daemon deleted %q", f.Name, wrong)
		}
	}
}

// Converge waits until every Work that is wanted is there and right, and no
// other is, and writes the row.
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
	f.T.Logf("%s: in sync %s after it was over", f.Name, took.Round(10*time.Millisecond))
}

// Remark changes the remark of a row that has converged.
func (f *FaultRow) Remark(note string) {
	f.Note = note
	Env.rows.note(f.Name, note)
}
