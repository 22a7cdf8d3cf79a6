package mirror

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/render"
)

// BenchmarkLook syncs a source that is on two clusters as wanted. Any change enqueues its
// sources, so a sync that finds nothing to do must cost nothing.
func BenchmarkLook(b *testing.B) {
	asks := sample.Asking("1", "m1,m2")
	s := newAPIServer(b)
	s.list(configMaps, asks)
	s.list(render.WorksResource, sample.Work(asks, "m1"), sample.Work(asks, "m2"))
	c := newControllerOf(b, s, configured("", "", ""), newFakeClock())
	b.ReportAllocs()
	for b.Loop() {
		if result, err := c.sync(b.Context(), sample.Page); err != nil || result != (syncResult{}) {
			b.Fatal(result, err)
		}
	}
	if sent := s.sent(); len(sent) > 0 {
		b.Fatal(sent)
	}
}
