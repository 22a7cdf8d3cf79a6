package machine

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// ownedByWeb says that the controller of the Deployment has made the page.
func (m *machine) ownedByWeb() error {
	_, err := m.store.Modify(refOf(thePage), "", func(o apiserver.Object) {
		(&unstructured.Unstructured{Object: o}).SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "x", Controller: new(true)}})
	})
	return err
}

func init() {
	inWavesOrNot := map[string]map[string]string{"OwnedInWaves": {clustersKey: "*", wavesKey: "m1;*"}, "OwnedWithoutWaves": {clustersKey: "*"}}
	for name, annotations := range inWavesOrNot { // the owner is mirrored to m1 alone
		sceneOf[name], stories[name] = inWaves, func(m *machine) error {
			return m.tell(m.web(to("m1")), pause(10*time.Second), m.page(nil), m.ownedByWeb, m.space("a", annotations, nil), pause(time.Hour), m.countOf(4))
		}
	}
}
