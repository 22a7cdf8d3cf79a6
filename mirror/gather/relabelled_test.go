package gather

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/labels"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// TestHadLabels: the labels before the first of several changes count, for a minute after it.
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
		in            time.Duration
	}{
		{"it has just been seen", nil, of("edge"), "", 0},
		{"it reports something", of("edge"), of("edge"), "", 0},
		{"its label is wrong", of("edge"), of("egde"), "edge", relabelPeriod},
		{"and wrong in another way", of("egde"), of("eedg"), "edge", relabelPeriod - 10*time.Second},
		{"it has left, and another has its name", of("eedg"), nil, "", 0},
		{"that changes, too", of("core"), of("edge"), "core", relabelPeriod},
	} {
		c.noteLabels(step.before, step.after)
		if had, in := c.hadLabels("m1"); had["tier"] != step.had || in != step.in {
			t.Errorf("%s: it had %v, and that counts for %s", step.reason, had, in)
		}
		clock.Step(10 * time.Second)
	}
	clock.Step(relabelPeriod)
	if _, in := c.hadLabels("m1"); in != 0 {
		t.Errorf("it counts for %s, after %s", in, relabelPeriod)
	}
}
