package judge

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestFactsAreAs: slow reads hold up nothing because of what does not decide.
func TestFactsAreAs(t *testing.T) {
	facts := func(change func(*Facts)) Facts {
		f := Facts{
			Source: NewSource(sample.Asking("1", "m1,m2"), render.Wishes{}), Policies: []*state.Policy{{}, {}},
			Clusters: map[string]ClusterFacts{"m1": {State: ClusterJoined}, "m2": {State: ClusterJoined}},
			Works:    map[string]*state.Work{"m1": state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1", sample.Applied("True"))), "m2": nil},
		}
		change(&f)
		return f
	}
	before := facts(func(*Facts) {})
	for name, tc := range map[string]struct {
		change func(*Facts)
		want   bool
	}{
		"Time": {func(f *Facts) {
			f.Clusters["m1"] = ClusterFacts{State: ClusterJoined, Recovery: Recovery{In: time.Minute}}
		}, true},
		"Version":    {func(f *Facts) { f.Works["m1"].ResourceVersion = "99" }, true},
		"Elsewhere":  {func(f *Facts) { f.Works["m2"] = f.Works["m1"] }, true},
		"Order":      {func(f *Facts) { f.Policies = []*state.Policy{before.Policies[1], before.Policies[0]} }, true},
		"Policy":     {func(f *Facts) { f.Policies = []*state.Policy{before.Policies[0]} }, false},
		"Canary":     {func(f *Facts) { f.Works["m1"].State = state.WorkFailed }, false},
		"CanaryGone": {func(f *Facts) { f.Works["m1"] = nil }, false},
		"Away":       {func(f *Facts) { f.Clusters["m1"] = ClusterFacts{State: ClusterJoined, Away: true} }, false},
		"Forbidden":  {func(f *Facts) { f.Clusters["m2"] = ClusterFacts{State: ClusterJoined, Forbidden: true} }, false},
		"Owned":      {func(f *Facts) { f.Clusters["m2"] = ClusterFacts{State: ClusterJoined, Owner: sample.Page} }, false},
		"Status":     {func(f *Facts) { f.Source.ResourceVersion = "99" }, true},
		"Edited": {func(f *Facts) {
			f.Source = NewSource(sample.Asking("2", "m1,m2"), render.Wishes{})
			f.Source.ResourceVersion = "99"
		}, false},
		"Reserved":     {func(f *Facts) { f.Source.Reserve() }, false},
		"ShowsNothing": {func(f *Facts) { f.Shown = []string{} }, false}, // nil is all
		"Strips":       {func(f *Facts) { f.Strip.Labels = []string{"x"} }, false},
		"Other":        {func(f *Facts) { f.Clusters["m9"] = ClusterFacts{State: ClusterJoined, Away: true} }, true},
		"Gone":         {func(f *Facts) { f.Source = nil }, false},
	} {
		now := facts(func(f *Facts) { f.Policies = before.Policies })
		if tc.change(&now); now.IsAs(before, []string{"m1"}) != tc.want {
			t.Errorf("%s: it is %v that they are as before", name, !tc.want)
		}
	}
}

// TestHasLeft: a Work that was written in the second in which its cluster joined was written there.
func TestHasLeft(t *testing.T) {
	joined := sample.Created
	f := Facts{Clusters: map[string]ClusterFacts{"m1": {State: ClusterJoined, Joined: joined}}}
	for age, want := range map[time.Duration]bool{-time.Second: true, 0: false, time.Second: false} {
		u := sample.Work(sample.Asking("1", "m1"), "m1")
		u.SetCreationTimestamp(metav1.NewTime(joined.Add(age)))
		if got := f.HasLeft(state.NewWork(u)); got != want {
			t.Errorf("written %s after its cluster joined: left %t", age, got)
		}
	}
}
