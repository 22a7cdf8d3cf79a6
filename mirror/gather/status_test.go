package gather

import (
	"testing"

	"go.uber.org/zap"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// TestPruneWithoutWorks: while the watch of Works starts again, no Work is known to be gone.
func TestPruneWithoutWorks(t *testing.T) {
	c := NewCaches(Options{Logger: zap.NewNop()})
	c.reports.Note(&state.Report{Work: "w", Version: "1"}, sample.Created)
	if c.pruneStatuses(); c.reports.Of(&state.Work{Meta: state.Meta{UID: "w"}}) == nil {
		t.Error("a report is forgotten")
	}
}
