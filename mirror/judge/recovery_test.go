package judge

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
)

func TestRecoveryAwaits(t *testing.T) {
	source := pageSource("1", "m1")
	at, down := sample.Created, sample.Created.Add(-10*time.Minute)
	before, meanwhile, after := sample.WrittenAt(down.Add(-time.Hour)), sample.WrittenAt(down.Add(time.Minute)), sample.WrittenAt(at.Add(2*time.Second))
	suspended := func(u *unstructured.Unstructured) {
		u.Object["spec"].(map[string]any)["suspendDispatching"] = true
	}
	cases := map[string]struct {
		reason   string
		recovery Recovery
		work     []func(*unstructured.Unstructured)
		want     bool
	}{
		"NoRecovery":       {"nothing has happened", Recovery{}, []func(*unstructured.Unstructured){sample.Applied("False"), meanwhile}, false},
		"Failed":           {"what has failed is tried again, whenever it was written", Recovery{At: at}, []func(*unstructured.Unstructured){sample.Applied("False"), before}, true},
		"Pending":          {"so is what was never tried", Recovery{At: at}, []func(*unstructured.Unstructured){meanwhile}, true},
		"FailedSince":      {"what was written since has been tried since", Recovery{At: at}, []func(*unstructured.Unstructured){sample.Applied("False"), after}, false},
		"EditedMeanwhile":  {"the condition of an edited Work is that of before the edit", Recovery{At: at, Down: down}, []func(*unstructured.Unstructured){sample.Applied("True"), meanwhile}, true},
		"EditedBefore":     {"what was applied before is applied", Recovery{At: at, Down: down}, []func(*unstructured.Unstructured){sample.Applied("True"), before}, false},
		"EditedUnseen":     {"nobody knows since when the cluster was away", Recovery{At: at}, []func(*unstructured.Unstructured){sample.Applied("True"), meanwhile}, false},
		"Suspended":        {"what is suspended is left alone", Recovery{At: at, Down: down}, []func(*unstructured.Unstructured){suspended, meanwhile}, false},
		"Deleted":          {"what is going is gone only when the member is there", Recovery{At: at}, []func(*unstructured.Unstructured){sample.Applied("True"), sample.Terminating, before}, true},
		"SomebodyElses":    {"it is not ours", Recovery{At: at}, []func(*unstructured.Unstructured){sample.Applied("False"), sample.BindingLabel, before}, false},
		"WrittenLastThing": {"a second is as exact as it gets", Recovery{At: at}, []func(*unstructured.Unstructured){sample.Applied("False"), sample.WrittenAt(at)}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.recovery.Awaits(pageWork(source, "m1", tc.work...)); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}
