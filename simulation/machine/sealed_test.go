package machine

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

func toThree(waves string) map[string]string {
	return map[string]string{clustersKey: "m1,m2,m3", wavesKey: waves, "karmada.target/wave-bake": "1m"}
}

// sealedInWaves begins with an immutable ConfigMap that goes to three clusters in waves.
func (m *machine) sealedInWaves(waves string, then ...act) error {
	return m.tell(append([]act{m.page(toThree(waves)), m.quiet, func() error { return m.seal(thePage, 1) }, pause(10 * time.Minute), m.quiet}, then...)...)
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

// isReplaced begins like sealedInWaves, until the first cluster has its new content and the Work of the second is being deleted.
func (m *machine) isReplaced(then ...act) error {
	return m.sealedInWaves("m1;*(1)", m.halts("m2"), m.edited(2), pause(3*time.Minute), m.keeps("m1", "2"), m.ails("m1"), m.tellAll(then...))
}

// again puts the page, with another content and these annotations, and as a content.
func (m *machine) again(annotations map[string]string) act { return m.as(3, annotations) }

func (m *machine) as(value int, annotations map[string]string) act {
	return func() error { return m.put(thePage, value, annotations, nil) }
}

// hasNone checks that a cluster has no Work of the page.
func (m *machine) hasNone(cluster string) act {
	return func() error {
		if m.works()[model.WorkKey(cluster, thePage)] != nil {
			return fmt.Errorf("there is a Work on %s", cluster)
		}
		return nil
	}
}

// has checks what the member has of the page.
func (m *machine) has(cluster, want string) act {
	return func() error {
		got, _, _ := unstructured.NestedString(m.karmada.Member(cluster).Store.Get(refOf(thePage)), "data", "key")
		if got != want {
			return fmt.Errorf("%s has %q, not %q", cluster, got, want)
		}
		return nil
	}
}

func init() {
	failing := fault.Refuse(apierrors.NewInternalError(errors.New("failed calling webhook")))
	ofTwo := toThree("m1;*(1)")
	ofTwo[clustersKey] = "m1,m3"
	suspended := toThree("m1;*(1)")
	suspended[suspendKey] = "m2"
	foreground := toThree("m1;*(1)")
	foreground[deletionKey] = "foreground"
	foregroundOfTwo := toThree("m1;*(1)")
	foregroundOfTwo[clustersKey], foregroundOfTwo[deletionKey] = "m1,m3", "foreground"
	ofFour := toThree("m1;*")
	ofFour[clustersKey] = "m1,m2,m3,m4"
	keeps := func(m *machine) act { return m.tellAll(pause(2*time.Minute), m.keeps("m2", "1"), m.keeps("m3", "1")) }
	sealed := map[string]func(m *machine) error{
		"SealedInWaves": func(m *machine) error { // each is replaced in its turn
			return m.sealedInWaves("m1;*(1)", m.edited(2), pause(30*time.Second), m.keeps("m1", "2"), m.keeps("m2", "1"), m.keeps("m3", "1"), pause(10*time.Minute), m.keeps("m2", "2"), m.keeps("m3", "2"))
		},
		"SealedHasASickCanary": func(m *machine) error {
			return m.sealedInWaves("m1;*", m.ails("m1"), m.edited(2), pause(time.Hour), m.keeps("m2", "1"), m.keeps("m3", "1"), m.heal, pause(20*time.Minute), m.keeps("m1", "2"), m.keeps("m3", "2"))
		},
		"SealedIsEditedMeanwhile": func(m *machine) error { // when a cluster has nothing, and it is not its turn any more
			return m.isReplaced(m.edited(3), pause(10*time.Second), m.goesOn("m2"), keeps(m))
		},
		"SealedGoesWhileItIsAbsent": func(m *machine) error { // for half a second, as by kubectl replace --force
			return m.isReplaced(m.gone, m.goesOn("m2"), pause(500*time.Millisecond), m.again(toThree("m1;*(1)")), keeps(m))
		},
		"SealedIsAbsentWhileItIsEmpty": func(m *machine) error { // since its Work cannot be created
			return m.isReplaced(m.slowly("create", "works", failing), m.goesOn("m2"), pause(3*time.Second), m.gone, pause(500*time.Millisecond), m.again(toThree("m1;*(1)")), m.calm, keeps(m))
		},
		"SealedIsMisspelt": func(m *machine) error {
			return m.isReplaced(m.again(toThree("m1;*(x)")), m.goesOn("m2"), pause(5*time.Second), m.again(toThree("m1;*(1)")), keeps(m))
		},
		"SealedIsNotAskedForForAMoment": func(m *machine) error {
			return m.isReplaced(m.again(ofTwo), pause(time.Second), m.goesOn("m2"), pause(500*time.Millisecond), m.again(toThree("m1;*(1)")), keeps(m))
		},
		"SealedIsTakenOut": func(m *machine) error { // and added again later, with a change that breaks the canary
			return m.sealedInWaves("m1;*(1)", m.halts("m2"), m.edited(2), pause(3*time.Minute), m.as(2, ofTwo), pause(time.Second), m.goesOn("m2"), pause(5*time.Minute), m.ails("m1"), m.again(toThree("m1;*(1)")), pause(2*time.Minute), m.hasNone("m2"))
		},
		"SealedIsDeletedForGood": func(m *machine) error { // while a Work does not go, and created again later
			return m.sealedInWaves("m1;*(1)", m.halts("m2"), m.edited(2), pause(3*time.Minute), m.halts("m3"), m.gone, pause(time.Second), m.goesOn("m2"), pause(5*time.Minute), m.ails("m1"), m.again(toThree("m1;*(1)")), pause(2*time.Minute), m.hasNone("m2"))
		},
		"SealedIsReinstalled": func(m *machine) error { // while a Work does not go, which takes no place
			return m.sealedInWaves("*(1)", m.halts("m1"), m.gone, pause(5*time.Minute), m.as(2, toThree("*(1)")), pause(20*time.Minute), m.keeps("m2", "2"), m.keeps("m3", "2"))
		},
		"SealedIsTakenOutWithoutItsFinalizer": func(m *machine) error {
			return m.sealedInWaves("m1;*(1)", m.slowly("patch", "configmaps", failing), m.again(foregroundOfTwo), pause(10*time.Minute), m.hasNone("m2"), m.keeps("m1", "1"))
		},
		"SealedIsSuspendedMeanwhile": func(m *machine) error {
			return m.isReplaced(m.again(suspended), m.goesOn("m2"), pause(10*time.Second), m.again(toThree("m1;*(1)")), keeps(m), m.has("m2", "1"))
		},
		"SealedLimitAfterARestart": func(m *machine) error { // one at once
			return m.sealedInWaves("*(1)", m.halts("m1"), m.edited(2), pause(time.Minute), m.restarted, pause(10*time.Minute), keeps(m))
		},
		"SealedWithoutItsFinalizer": func(m *machine) error { // nothing is created before that is set
			return m.sealedInWaves("m1;*(1)", m.slowly("patch", "configmaps", failing), m.again(foreground), pause(10*time.Minute), m.keeps("m1", "1"))
		},
		"SealedMayNotBeCreated": func(m *machine) error {
			denies := func(op string, gr schema.GroupResource, _ string, new, _ apiserver.Object) (apiserver.Object, error) {
				if gr == works && op == "CREATE" {
					return nil, apierrors.NewForbidden(works, "", errors.New("denied by a webhook"))
				}
				return new, nil
			}
			return m.sealedInWaves("m1;*(1)", m.admits(denies, m.edited(2), pause(10*time.Minute), m.keeps("m1", "1")))
		},
		"SealedHasASlowCreationBesideIt": func(m *machine) error { // that takes 20 s and fails, while the canary fails unseen
			loses := func() error { return m.karmada.Member("m1").Store.Delete(refOf(thePage), metav1.DeleteOptions{}) }
			return m.sealedInWaves("m1;*", func() error { return m.put(thePage, 2, ofFour, nil) }, pause(30*time.Second), m.keeps("m1", "2"), m.slowly("create", "works", fault.Chain(fault.Delay(20*time.Second), failing)),
				pause(56*time.Second), m.keeps("m2", "1"), m.shut("works"), m.ails("m1"), loses, pause(10*time.Minute), keeps(m))
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
