package render

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHold(t *testing.T) {
	hold := Hold{
		Since:    time.Date(2026, 1, 2, 3, 4, 5, int(6*time.Millisecond), time.UTC),
		Resource: "deployments.apps",
		Because:  "the source does not exist",
	}
	patch := decode(t, string(hold.Patch("7")))
	mark := "2026-01-02T03:04:05.006Z deployments.apps the source does not exist"
	want := map[string]any{"metadata": map[string]any{
		"resourceVersion": "7",
		"labels":          map[string]any{HeldKey: "true"},
		"annotations":     map[string]any{HeldKey: mark},
	}}
	if diff := cmp.Diff(want, patch); diff != "" {
		t.Errorf("patch: -want +got:\n%s", diff)
	}
	got, ok := ParseHold(map[string]string{HeldKey: mark})
	if diff := cmp.Diff(hold, got); !ok || diff != "" {
		t.Errorf("parsed (%t): -want +got:\n%s", ok, diff)
	}
	for _, bad := range []string{"", "true", "yesterday deployments.apps it", "2026-01-02T03:04:05.006Z deployments.apps", "2026-01-02T03:04:05.006Z  it"} {
		if got, ok := ParseHold(map[string]string{HeldKey: bad}); ok {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}
