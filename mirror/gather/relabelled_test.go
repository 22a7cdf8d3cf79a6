package gather

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/labels"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// TestHadLabels: the labels before each change count, for a minute after it.
func TestHadLabels(t *testing.T) {
	clock := clocktesting.NewFakeClock(sample.Created)
	c := NewCaches(Options{Clock: clock, Logger: zap.NewNop()})
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
		if c.noteLabels(step.before, step.after); step.after == nil {
			if gone := c.LabelsHad("m1"); len(gone) != 3 || gone[0]["tier"] != "core" {
				t.Errorf("%s: it had %v", step.reason, gone)
			}
			c.ForgetLabels("m1")
		}
		var had []string
		for _, h := range c.hadLabels(of("")) {
			had = append(had, h.Labels["tier"]+" "+h.In.String())
		}
		if got := strings.Join(had, ", "); got != step.had {
			t.Errorf("%s: it had %s, not %s", step.reason, got, step.had)
		}
		clock.Step(20 * time.Second)
	}
	for i := range 3 * maxLabellings {
		c.noteLabels(of(fmt.Sprint(i)), of(fmt.Sprint(i+1)))
	}
	if n := len(c.hadLabels(of(""))); n != maxLabellings {
		t.Errorf("%d are kept", n)
	}
	c.ForgetLabels("m1")
	c.noted.Store("m1", of("edge"))
	if had := c.hadLabels(of("egde")); len(had) != 1 || had[0].Labels["tier"] != "edge" || len(c.hadLabels(of("edge"))) > 0 {
		t.Errorf("its handler is still to note what it had: %v", had)
	}
}
