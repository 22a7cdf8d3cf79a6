package memory

import (
	"testing"
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// TestRenewed tells what is reported since a Work is made from its source from what was there before.
func TestRenewed(t *testing.T) {
	var r Reports
	for i, step := range []struct {
		reason                   string
		version, source, reports string
		want                     bool
	}{
		{"who reported this, and when, is not known", "1", "a", "1 of 1", false},
		{"the spec was written, or a condition", "2", "a", "1 of 1", false},
		{"it reports something else", "3", "a", "0 of 1", true},
		{"as it did before", "4", "a", "1 of 1", true},
		{"an older version comes late", "2", "a", "1 of 1", true},
		{"or no longer anything", "4", "a", "", true},
		{"the source was recreated", "5", "b", "1 of 1", false},
		{"and Karmada notes that it has applied it", "6", "b", "1 of 1", false},
		{"and how it fares", "7", "b", "2 of 2", true},
	} {
		r.Note(&state.Report{Work: "w", Version: step.version, Source: step.source, Status: []byte(step.reports)}, sample.Created)
		if got := r.works["w"]; got.Renewed != step.want {
			t.Errorf("%d, %s: renewed %v", i, step.reason, got.Renewed)
		}
	}
	if len(r.first) != 0 {
		t.Errorf("kept although it was renewed: %q", r.first)
	}
}

// TestSuspendedIsNotRenewed: a member's object changes while Karmada does not apply the Work of a recreated source.
func TestSuspendedIsNotRenewed(t *testing.T) {
	var r Reports
	for i, step := range []struct {
		version, source, reports string
		suspended, want          bool
	}{
		{"1", "a", "1 of 1", false, false}, {"2", "b", "1 of 1", true, false}, {"3", "b", "0 of 1", true, false},
		{"4", "b", "0 of 1", false, false}, {"5", "b", "1 of 2", false, true}, {"6", "b", "2 of 2", true, true},
	} {
		r.Note(&state.Report{Work: "w", Version: step.version, Source: step.source, Status: []byte(step.reports), Suspended: step.suspended}, sample.Created)
		if got := r.works["w"]; got.Renewed != step.want || string(got.Status) != step.reports {
			t.Errorf("step %d: renewed %t, reports %q", i, got.Renewed, got.Status)
		}
	}
}

// TestRan: a Job that was seen to run, since its Work is made from this source, has run.
func TestRan(t *testing.T) {
	var r Reports
	for i, step := range []struct {
		version, source string
		ran, want       bool
	}{
		{"1", "a", false, false}, {"2", "a", true, true}, {"3", "a", false, true}, {"4", "b", false, false},
	} {
		r.Note(&state.Report{Work: "w", Version: step.version, Source: step.source, Ran: step.ran}, sample.Created)
		if got := r.works["w"]; got.Ran != step.want {
			t.Errorf("step %d: ran %t", i, got.Ran)
		}
	}
}

// TestFailedSince: only a Work that was applied with its present content has failed since a time; what is refused counts at once.
func TestFailedSince(t *testing.T) {
	start := sample.Created
	for name, tc := range map[string]struct {
		reason           string
		written, fails   time.Duration // after the first report
		reported, isKept bool
	}{
		"Repair":     {"it was applied, and reported", 0, time.Hour, true, true},
		"Stood":      {"nothing is reported of its content, and it has stood for long", 0, time.Hour, false, true},
		"New":        {"the condition is that of earlier content", 0, time.Second, false, false},
		"NewContent": {"it is written, and refused", time.Hour, time.Hour + time.Second, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			var r Reports
			first := &state.Report{Work: "w", Version: "1", Source: "s", Written: start}
			if tc.reported {
				first.Reported = start.Add(time.Minute)
			}
			r.Note(first, start)
			failed := &state.Report{Work: "w", Version: "2", Source: "s", Written: start.Add(tc.written), Failed: true}
			r.Note(failed, start.Add(tc.fails))
			later := &state.Report{Work: "w", Version: "3", Source: "s", Written: start.Add(tc.written), Failed: true}
			r.Note(later, start.Add(tc.fails+time.Minute))
			want := time.Time{}
			if tc.isKept {
				want = start.Add(tc.fails)
			}
			if !later.FailedSince.Equal(want) {
				t.Errorf("%s: since %s, want %s", tc.reason, later.FailedSince, want)
			}
			edited := &state.Report{Work: "w", Version: "4", Source: "s", Written: start.Add(2 * time.Hour), Failed: true}
			if r.Note(edited, start.Add(2*time.Hour)); !edited.FailedSince.IsZero() {
				t.Error("what is written while it fails counts at once")
			}
		})
	}
}
