package memory

import (
	"slices"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
)

// TestEditedInMembers counts what is edited in a member, for as long as its Work is not.
func TestEditedInMembers(t *testing.T) {
	source := asking("1", "m1")
	reporting := func(work, field string, member int64) sample.Change {
		return func(u *unstructured.Unstructured) {
			u.SetGeneration(int64(len(work)))
			status := map[string]any{field: member}
			if field == "generation" {
				status["resourceTemplateGeneration"] = int64(1)
			}
			u.Object["status"] = map[string]any{"manifestStatuses": []any{map[string]any{"status": status}}}
		}
	}
	for reason, tc := range map[string]struct {
		work, field string
		by          int64
		pause       time.Duration
		want        []string
	}{
		"Karmada reports it":                  {"1", "generation", 1, time.Second, []string{"m1"}},
		"a controller in the member does":     {"1", "observedGeneration", 1, time.Second, []string{"m1"}},
		"Karmada had not looked for long":     {"1", "generation", manyEdits, 30 * time.Second, nil},
		"they are few":                        {"1", "generation", 1, 15 * time.Second, nil},
		"nothing reports it":                  {"1", "replicas", 1, time.Second, nil},
		"the object was created again":        {"1", "generation", -manyEdits, time.Second, nil},
		"each is made by an edit of its Work": {"", "generation", 1, time.Second, nil},
	} {
		t.Run(reason, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(sample.Created)
			m, of := New(clock), tc.work
			before := observed(source, "m1", reporting(of, tc.field, 1000))
			for n := range int64(manyEdits) {
				if tc.work == "" {
					of += "x"
				}
				after := observed(source, "m1", reporting(of, tc.field, 1000+(n+1)*tc.by))
				m.Followed(before, after)
				before = after
				clock.Step(tc.pause)
			}
			got, left := m.EditedInMembers(sample.Page, wanting(source).Targets)
			if !slices.Equal(got, tc.want) {
				t.Fatalf("%q", got)
			}
			clock.Step(left)
			if got, left = m.EditedInMembers(sample.Page, wanting(source).Targets); len(got) != 0 || left != 0 {
				t.Errorf("%q, for %s more", got, left)
			}
			clock.Step(editsAge)
			if m.Prune(); m.read(sample.Page, "m1").edits != nil {
				t.Error("they are remembered")
			}
		})
	}
}
