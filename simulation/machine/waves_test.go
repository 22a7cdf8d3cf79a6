package machine

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// isHeldUp reports whether a cluster keeps what it has, for as long as it takes: it is suspended, or an earlier wave
// cannot be given its content or come through with it, or as many of its own as its wave allows at once.
func (m *machine) isHeldUp(world *model.World, of target, there map[string]*unstructured.Unstructured) bool {
	if !world.InWaves(of.key) {
		return false
	}
	if _, like := world.Of(of.key, of.cluster); like.Suspended {
		return true
	}
	number, atOnce := world.WaveOf(of.key, of.cluster)
	beside := 0 // in its own wave, each of those may have the content
	for _, other := range m.clusters {
		state, like := world.Of(of.key, other)
		isStuck := other != of.cluster && (state == model.Stays && like.UID != "" && world.Clusters[other] != nil || m.isContested(target{of.key, other}, there))
		switch wave, _ := world.WaveOf(of.key, other); {
		case isStuck && wave < number:
			return true
		case isStuck && wave == number:
			beside++
		}
	}
	return beside >= atOnce
}

// judgeHeldUp checks that a Work that is held up has stayed, or stayed suspended, and what takes effect at once.
func (m *machine) judgeHeldUp(of target, want model.Copy, work *unstructured.Unstructured) string {
	if work == nil {
		return m.judgeStaying(of, work)
	}
	if has, err := model.CopyOf(work); err != nil || want.Suspended && !has.Suspended || has.Preserved != want.Preserved {
		return "it is not suspended or preserved as it must be: " + described(work)
	}
	return m.judgeStaying(of, work)
}
