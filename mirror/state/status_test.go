package state

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
)

// TestRan: what runs in a member before its Work was ever applied is not the source's Job.
func TestRan(t *testing.T) {
	reports := func(conditions ...any) sample.Change {
		return func(u *unstructured.Unstructured) {
			status, _ := u.Object["status"].(map[string]any)
			if status == nil {
				status = map[string]any{}
			}
			status["manifestStatuses"] = []any{map[string]any{"status": map[string]any{"active": int64(1), "conditions": conditions}}}
			u.Object["status"] = status
		}
	}
	job := sample.Asking("1", "m1")
	job.SetGroupVersionKind(JobKind.WithVersion("v1"))
	for name, tc := range map[string]struct {
		changes []sample.Change
		want    bool
	}{
		"Runs":       {[]sample.Change{sample.Applied("True"), reports()}, true},
		"Ended":      {[]sample.Change{sample.Applied("True"), reports(map[string]any{"type": "Complete", "status": "True"})}, false},
		"Unreported": {[]sample.Change{sample.Applied("True")}, false},
		"Unapplied":  {[]sample.Change{reports()}, false}, // a Job that was preserved runs
	} {
		if got := NewReport(sample.Work(job, "m1", tc.changes...)); got.Ran != tc.want {
			t.Errorf("%s: ran %t", name, got.Ran)
		}
	}
}
