package machine

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// sealedInWaves begins with an immutable ConfigMap that goes to three clusters in waves.
func (m *machine) sealedInWaves(waves string, then ...act) error {
	annotations := map[string]string{clustersKey: "m1,m2,m3", wavesKey: waves, "karmada.target/wave-bake": "1m"}
	return m.tell(append([]act{m.page(annotations), m.quiet, func() error { return m.seal(thePage, 1) }, pause(10 * time.Minute), m.quiet}, then...)...)
}

// hasTeam checks the label of the page that a Work carries.
func (m *machine) hasTeam(cluster, want string) act {
	return func() error {
		manifest, err := model.ManifestOf(m.works()[model.WorkKey(cluster, thePage)])
		if err == nil && manifest.GetLabels()["team"] != want {
			err = fmt.Errorf("%s has the label %q, not %q", cluster, manifest.GetLabels()["team"], want)
		}
		return err
	}
}

func init() {
	sealed := map[string]func(m *machine) error{
		"SealedInWaves": func(m *machine) error { // each is replaced in its turn
			return m.sealedInWaves("m1;*(1)", m.edited(2), pause(30*time.Second), m.keeps("m1", "2"), m.keeps("m2", "1"), m.keeps("m3", "1"), pause(10*time.Minute), m.keeps("m2", "2"), m.keeps("m3", "2"))
		},
		"SealedHasASickCanary": func(m *machine) error {
			return m.sealedInWaves("m1;*", m.ails("m1"), m.edited(2), pause(time.Hour), m.keeps("m2", "1"), m.keeps("m3", "1"), m.heal, pause(20*time.Minute), m.keeps("m1", "2"), m.keeps("m3", "2"))
		},
		"SealedIsEditedMeanwhile": func(m *machine) error { // when a cluster has nothing, and it is not its turn any more
			return m.sealedInWaves("m1;*(1)", m.halts("m2"), m.edited(2), pause(3*time.Minute), m.keeps("m1", "2"), m.ails("m1"), m.edited(3), pause(10*time.Second), m.goesOn("m2"), pause(10*time.Second), m.keeps("m2", "1"), m.keeps("m3", "1"))
		},
		"SealedIsEditedWhenNoneHasIt": func(m *machine) error {
			return m.sealedInWaves("m1;*", m.halts("m2"), m.halts("m3"), m.edited(2), pause(3*time.Minute), m.keeps("m1", "2"), m.ails("m1"), m.edited(3), pause(10*time.Second), m.goesOn("m2"), m.goesOn("m3"), pause(10*time.Second), m.keeps("m2", "3"), m.keeps("m3", "3"))
		},
		"SealedAndOneComesBack": func(m *machine) error { // which has something, unlike the one that is being replaced
			return m.sealedInWaves("*(1)", m.goes("m1"), m.halts("m2"), m.edited(2), pause(3*time.Minute), m.comes("m1"), pause(5*time.Second), m.goesOn("m2"), pause(15*time.Second), m.keeps("m1", "1"), m.keeps("m2", "2"))
		},
		"SealedHasACanaryThatFailsUnseen": func(m *machine) error { // in its bake
			loses := func() error { return m.karmada.Member("m1").Store.Delete(refOf(thePage), metav1.DeleteOptions{}) }
			return m.sealedInWaves("m1;*", m.edited(2), pause(30*time.Second), m.keeps("m1", "2"), m.shut("works"), m.ails("m1"), loses, pause(10*time.Minute), m.keeps("m2", "1"), m.keeps("m3", "1"))
		},
		"SealedWithTwoAway": func(m *machine) error { // that was deleted before, and not replaced
			return m.sealedInWaves("*(1)", m.goes("m1"), m.goes("m2"), m.gone, pause(time.Minute), func() error {
				return m.put(thePage, 2, map[string]string{clustersKey: "m1,m2,m3", wavesKey: "*(1)"}, nil)
			}, pause(10*time.Minute), m.keeps("m3", "2"))
		},
		"SealedIsRevertedMeanwhile": func(m *machine) error { // with another label: one of them at once
			return m.sealedInWaves("*(1)", m.halts("m1"), m.edited(2), pause(time.Minute), func() error {
				return m.put(thePage, 1, m.history.now().Objects[thePage].Annotations, map[string]string{"team": "b"})
			}, pause(10*time.Minute), m.hasTeam("m2", ""), m.goesOn("m1"), pause(10*time.Minute), m.hasTeam("m2", "b"))
		},
		"SealedOnASlowAPIServer": func(m *machine) error { // that takes 0.7 s for each request
			return m.sealedInWaves("*(1)", m.far(350*time.Millisecond), m.edited(2), pause(time.Hour), m.keeps("m1", "2"), m.keeps("m2", "2"), m.keeps("m3", "2"))
		},
		"SealedInWavesAndRestarted": func(m *machine) error {
			return m.sealedInWaves("m1;*", m.halts("m2"), m.edited(2), pause(3*time.Minute), m.restarted, m.goesOn("m2"), pause(10*time.Minute), m.keeps("m2", "2"), m.keeps("m3", "2"))
		},
	}
	for name, story := range sealed {
		sceneOf[name], stories[name] = inWaves, story
	}
}
