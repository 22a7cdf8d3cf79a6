package render

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestBars: what bars nothing although it differs, and what does. What API servers accept is asked of a real one elsewhere.
func TestBars(t *testing.T) {
	set := func(when, size string) string {
		return `{"apiVersion":"apps/v1","kind":"StatefulSet","spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"` + when + `"},"volumeClaimTemplates":[{"spec":{"resources":{"requests":{"storage":"` + size + `"}}}}]}}`
	}
	quota := func(scopes string) string {
		return `{"apiVersion":"v1","kind":"ResourceQuota","spec":{"scopes":` + scopes + `}}`
	}
	for reason, c := range map[string]struct {
		was, is string
		want    bool
	}{
		"its claims stay":                   {set("Retain", "1Gi"), set("Retain", "2Gi"), true},
		"its claims are deleted with it":    {set("Delete", "1Gi"), set("Delete", "2Gi"), false},
		"they were to be deleted with it":   {set("Delete", "1Gi"), set("Retain", "2Gi"), false},
		"the scopes are in another order":   {quota(`["BestEffort","Terminating"]`), quota(`["Terminating","BestEffort"]`), false},
		"the scopes are others":             {quota(`["BestEffort"]`), quota(`["Terminating"]`), true},
		"a quota that had none gets scopes": {quota(`null`), quota(`["Terminating"]`), true},
	} {
		of := func(text string) Immutable {
			u := &unstructured.Unstructured{}
			if err := u.UnmarshalJSON([]byte(text)); err != nil {
				t.Fatal(err)
			}
			return ImmutableOf(u.Object)
		}
		if got := of(c.was).Bars(of(c.is)); got != c.want {
			t.Errorf("%s: it bars: %v", reason, got)
		}
	}
}

// TestExpiresBy: which fields delete what has run once.
func TestExpiresBy(t *testing.T) {
	for text, want := range map[string]string{
		`{"apiVersion":"argoproj.io/v1alpha1","kind":"Workflow","spec":{"ttlStrategy":{"secondsAfterCompletion":5}}}`: "spec.ttlStrategy",
		`{"apiVersion":"argoproj.io/v1alpha1","kind":"Workflow","spec":{"ttlStrategy":null}}`:                         "",
		`{"apiVersion":"argoproj.io/v1alpha1","kind":"Workflow","spec":{"ttlStrategy":{}}}`:                           "",
		`{"apiVersion":"ray.io/v1","kind":"RayJob","spec":{"ttlSecondsAfterFinished":10}}`:                            "",
	} {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := expiresBy(u); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
