package memory

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// TestHadLabels: the labels before each change count, for a minute after it.
func TestHadLabels(t *testing.T) {
	clock := clocktesting.NewFakeClock(sample.Created)
	m := New(clock)
	of := func(tier string) *state.Cluster {
		return &state.Cluster{Meta: state.Meta{Name: "m1"}, Labels: labels.Set{"tier": tier}}
	}
	for _, step := range []struct {
		reason        string
		before, after *state.Cluster
		had           string
	}{
		{"it has just been seen", nil, of("edge"), ""},
		{"it reports something", of("edge"), of("edge"), ""},
		{"its label is wrong", of("edge"), of("egde"), "edge 1m0s"},
		{"and wrong in another way", of("egde"), of("eedg"), "egde 1m0s, edge 40s"},
		{"and another", of("eedg"), of("core"), "eedg 1m0s, egde 40s, edge 20s"},
		{"the first is long ago", of("core"), of("edge"), "core 1m0s, eedg 40s, egde 20s"},
		{"it has left, and another has its name", of("edge"), nil, ""},
		{"that changes, too", of("core"), of("edge"), "core 1m0s"},
	} {
		if m.NoteCluster(step.before, step.after); step.after == nil {
			if gone := m.HadLabels(step.before); len(gone) != 2 || gone[0].Labels["tier"] != "core" {
				t.Errorf("%s: it had %v", step.reason, gone)
			}
			m.ForgetCluster("m1")
		}
		var had []string
		for _, h := range m.HadLabels(cmp.Or(step.after, of(""))) {
			had = append(had, h.Labels["tier"]+" "+h.In.String())
		}
		if got := strings.Join(had, ", "); got != step.had {
			t.Errorf("%s: it had %s, not %s", step.reason, got, step.had)
		}
		clock.Step(20 * time.Second)
	}
	last := of("")
	for i := range 3 * maxLabellings {
		next := of(fmt.Sprint(i))
		m.NoteCluster(last, next)
		last = next
	}
	if n := len(m.HadLabels(last)); n != maxLabellings {
		t.Errorf("%d are kept", n)
	}
	m.ForgetCluster("m1")
	m.NoteCluster(nil, of("edge"))
	if had := m.HadLabels(of("egde")); len(had) != 1 || had[0].Labels["tier"] != "edge" || len(m.HadLabels(of("edge"))) > 0 {
		t.Errorf("it is still to be noted what it had: %v", had)
	}
}
