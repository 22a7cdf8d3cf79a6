package mirror

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func applied(status string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		u.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Applied", "status": status, "reason": "x", "message": "", "lastTransitionTime": pageCreated.Format(time.RFC3339)}}}
	}
}

func TestRecoveryAwaits(t *testing.T) {
	source := pageSource("1", "m1")
	at, down := pageCreated, pageCreated.Add(-10*time.Minute)
	before, meanwhile, after := writtenAt(down.Add(-time.Hour)), writtenAt(down.Add(time.Minute)), writtenAt(at.Add(2*time.Second))
	suspended := func(u *unstructured.Unstructured) {
		u.Object["spec"].(map[string]any)["suspendDispatching"] = true
	}
	cases := map[string]struct {
		reason   string
		recovery Recovery
		work     []func(*unstructured.Unstructured)
		want     bool
	}{
		"NoRecovery":       {"nothing has happened", Recovery{}, []func(*unstructured.Unstructured){applied("False"), meanwhile}, false},
		"Failed":           {"what has failed is tried again, whenever it was written", Recovery{At: at}, []func(*unstructured.Unstructured){applied("False"), before}, true},
		"Pending":          {"so is what was never tried", Recovery{At: at}, []func(*unstructured.Unstructured){meanwhile}, true},
		"FailedSince":      {"what was written since has been tried since", Recovery{At: at}, []func(*unstructured.Unstructured){applied("False"), after}, false},
		"EditedMeanwhile":  {"the condition of an edited Work is that of before the edit", Recovery{At: at, Down: down}, []func(*unstructured.Unstructured){applied("True"), meanwhile}, true},
		"EditedBefore":     {"what was applied before is applied", Recovery{At: at, Down: down}, []func(*unstructured.Unstructured){applied("True"), before}, false},
		"EditedUnseen":     {"nobody knows since when the cluster was away", Recovery{At: at}, []func(*unstructured.Unstructured){applied("True"), meanwhile}, false},
		"Suspended":        {"what is suspended is left alone", Recovery{At: at, Down: down}, []func(*unstructured.Unstructured){suspended, meanwhile}, false},
		"Deleted":          {"what is going is gone only when the member is there", Recovery{At: at}, []func(*unstructured.Unstructured){applied("True"), terminating, before}, true},
		"SomebodyElses":    {"it is not ours", Recovery{At: at}, []func(*unstructured.Unstructured){applied("False"), bindingLabel, before}, false},
		"WrittenLastThing": {"a second is as exact as it gets", Recovery{At: at}, []func(*unstructured.Unstructured){applied("False"), writtenAt(at)}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.recovery.awaits(pageWork(source, "m1", tc.work...)); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}

func TestRecoveryFollowing(t *testing.T) {
	at := func(seconds int) time.Time { return pageCreated.Add(time.Duration(seconds) * time.Second) }
	long := Recovery{Down: at(0), At: at(100)}
	cases := map[string]struct {
		reason  string
		now     Recovery
		isShort bool
	}{
		"Flapping":  {"what had hardly come back has been away all the time", Recovery{Down: at(102), At: at(105)}, false},
		"Blip":      {"what was there for a while and blinked has not been away", Recovery{Down: at(160), At: at(163)}, true},
		"LongAgain": {"and may be away again", Recovery{Down: at(160), At: at(260)}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.now.following(long); got.isShort() != tc.isShort || got.At != tc.now.At {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}
