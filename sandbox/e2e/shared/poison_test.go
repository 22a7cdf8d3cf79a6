package shared

import (
	"fmt"
	"math"
	"strings"
	"testing"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestPoison mirrors objects that are hard to process, together with ordinary ones.
func TestPoison(t *testing.T) {
	ns := Isolate(t)
	const group = "poison.example"
	Configure(t, Resources(t, "configmaps", "blobs."+group))
	blobs := InstallBlobs(t, group)
	d := StartDaemon(t)
	f := NewFault(t, "Poison objects: nested 2,000 deep, numbers at the limits of their range, 10,000 keys, hostile annotations", ns, blobs)
	deep := any("bottom")
	for range 2000 {
		deep = map[string]any{"d": deep}
	}
	many := map[string]any{}
	for i := range 10_000 {
		many[fmt.Sprintf("key \u2028 %d", i)] = []any{int64(i), nil, true, ""}
	}
	poison := map[string]any{
		"deep": deep, "many": many,
		"numbers":   []any{"1e400", math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1), int64(math.MaxInt64), int64(math.MinInt64)},
		"lookalike": map[string]any{"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": "none"},
	}
	for name, content := range poison {
		Create(t, blobs, Blob(group, ns, name, Both, content))
	}
	hostile := ConfigMap(ns, "hostile", strings.Repeat("member1,", 2000), "one")
	Create(t, ConfigMaps, hostile)
	CreatePages(t, ns, Both, 5)
	WantEvent(t, ns, "hostile", "InvalidAnnotation", "more than 1024")
	Remove(t, ConfigMaps, ns, "hostile")
	f.Heal()
	f.Converge(Patience)
	if err := d.Probe(t.Context(), "/livez"); err != nil {
		t.Error(err)
	}
}
