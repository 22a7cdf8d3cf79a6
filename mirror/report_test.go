package mirror

import (
	"strings"
	"testing"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
)

// TestHeldEvent: the Event says why the deletions are held, and how to approve just them.
func TestHeldEvent(t *testing.T) {
	cases := map[string]struct{ reason, namespace, because, want string }{
		"All": {"they are in several namespaces", "", "their CRD was deleted",
			"held 3 deletions of configmaps: their CRD was deleted. See them with `karmada-mirror deletions list`, approve them with `karmada-mirror deletions approve --resource configmaps`"},
		"One": {"only this namespace's are", "shop", "more than deletion.holdAbove allows",
			"held 3 deletions of configmaps in namespace \"shop\": more than deletion.holdAbove allows. See them with `karmada-mirror deletions list`, approve them with `karmada-mirror deletions approve --resource configmaps --namespace shop`"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			recorder := record.NewFakeRecorder(1)
			subject := func() *corev1.ObjectReference {
				return &corev1.ObjectReference{Kind: "ConfigMap", Name: "karmada-mirror"}
			}
			writeReports{&Controller{Options: Options{Recorder: recorder, Subject: subject, Logger: zap.NewNop()}}}.Held("configmaps", c.namespace, 3, c.because)
			if got := <-recorder.Events; !strings.HasSuffix(got, " DeletionHeld "+c.want) {
				t.Errorf("%s: %q", c.reason, got)
			}
		})
	}
}
