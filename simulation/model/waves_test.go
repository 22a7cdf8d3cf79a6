package model

import (
	"math"
	"testing"
)

func TestWaveOf(t *testing.T) {
	web := Key{Kind: "Deployment", Namespace: "shop", Name: "web"}
	w := &World{Objects: map[Key]*Object{web: {Annotations: map[string]string{wavesKey: "canary, c?; *,!z*(3); z1(50%)"}}}}
	for cluster, want := range map[string][2]int{
		"canary": {0, math.MaxInt}, "c2": {0, math.MaxInt}, "prod": {1, 3}, "z1": {2, math.MaxInt}, "z2": {3, math.MaxInt},
	} {
		if number, atOnce := w.WaveOf(web, cluster); number != want[0] || atOnce != want[1] {
			t.Errorf("%s is in wave %d, %d at once", cluster, number, atOnce)
		}
	}
	if number, atOnce := w.WaveOf(Key{}, "prod"); number != 0 || atOnce != math.MaxInt {
		t.Errorf("without an object: %d, %d", number, atOnce)
	}
}
