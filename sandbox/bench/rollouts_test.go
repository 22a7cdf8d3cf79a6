package bench

import (
	"testing"
	"time"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

func TestRolledOut(t *testing.T) {
	o := rolledOut{
		sources: 4, writes: []float64{2, 3, 3, 9}, after: latencies{-time.Second, -1, 0, time.Second},
		cost: cost{cpu: map[string]float64{"karmada-mirror": 1, karmada.APIServer: 3, karmada.Etcd: 50}},
	}
	for what, figures := range map[string][2]float64{
		"status writes, median":              {o.typicalWrites(), 3},
		"status writes, most":                {o.mostWrites(), 9},
		"sources before their last member":   {o.early(), 2},
		"CPU for each, without that of etcd": {o.cpuOfControlPlane(), 1},
	} {
		if figures[0] != figures[1] {
			t.Errorf("%s: %g, want %g", what, figures[0], figures[1])
		}
	}
}
