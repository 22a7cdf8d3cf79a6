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
		"Failed":           {"a failed Work is retried, whenever it was written", Recovery{At: at}, []func(*unstructured.Unstructured){sample.Applied("False"), before}, true},
		"Pending":          {"so is one that was never tried", Recovery{At: at}, []func(*unstructured.Unstructured){meanwhile}, true},
		"FailedSince":      {"a Work written since then has been tried since then", Recovery{At: at}, []func(*unstructured.Unstructured){sample.Applied("False"), after}, false},
		"EditedMeanwhile":  {"the condition of an edited Work predates the edit", Recovery{At: at, Down: down}, []func(*unstructured.Unstructured){sample.Applied("True"), meanwhile}, true},
		"EditedBefore":     {"a Work applied before the outage is applied", Recovery{At: at, Down: down}, []func(*unstructured.Unstructured){sample.Applied("True"), before}, false},
		"EditedUnseen":     {"no one knows when the outage began", Recovery{At: at}, []func(*unstructured.Unstructured){sample.Applied("True"), meanwhile}, false},
		"Suspended":        {"a suspended Work is left alone", Recovery{At: at, Down: down}, []func(*unstructured.Unstructured){suspended, meanwhile}, false},
		"Deleted":          {"a deletion completes only when the member is back", Recovery{At: at}, []func(*unstructured.Unstructured){sample.Applied("True"), sample.Terminating, before}, true},
		"SomebodyElses":    {"it is not ours", Recovery{At: at}, []func(*unstructured.Unstructured){sample.Applied("False"), sample.BindingLabel, before}, false},
		"WrittenLastThing": {"times have whole seconds", Recovery{At: at}, []func(*unstructured.Unstructured){sample.Applied("False"), sample.WrittenAt(at)}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.recovery.Awaits(pageWork(source, "m1", tc.work...)); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}
