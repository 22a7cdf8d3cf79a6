package state

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
)

// TestSkipsPropagation: Karmada lower-cases the label's value before it compares it.
func TestSkipsPropagation(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "True": true, "TRUE": true, "false": false, "": false, "yes": false} {
		u := sample.Namespace(nil)
		sample.SetLabel(u, "namespace.karmada.io/skip-auto-propagation", value)
		if got := NewNamespace(u).SkipsPropagation(); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
	if NewNamespace(sample.Namespace(nil)).SkipsPropagation() {
		t.Error("without the label, it is skipped")
	}
}
