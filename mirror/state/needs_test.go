package state

import (
	"fmt"
	"testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestNeeds: what Pods need is kept by name up to a bound; beyond it, they may need anything in their namespace.
func TestNeeds(t *testing.T) {
	for n, anything := range map[int]bool{0: false, 1: false, maxNeeds: false, maxNeeds + 1: true} {
		from := []any{}
		for i := range n {
			from = append(from, map[string]any{"configMapRef": map[string]any{"name": fmt.Sprint("c", i)}})
		}
		u := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1"})
		u.SetKind("Pod")
		u.Object["spec"] = map[string]any{"containers": []any{map[string]any{"name": "c", "envFrom": from}}}
		w := NewWork(sample.Work(u, "m1"))
		needs := func(namespace, name string) bool {
			return w.MayNeed(render.Identity{Kind: "ConfigMap", Namespace: namespace, Name: name})
		}
		if w.MayNeedAnything() != anything || needs("shop", "c0") != (n > 0) || needs("shop", "other") != anything || needs("other", "c0") || !anything && len(w.Needs()) != n {
			t.Errorf("%d needs: anything %v, %d are kept", n, w.MayNeedAnything(), len(w.Needs()))
		}
	}
}
