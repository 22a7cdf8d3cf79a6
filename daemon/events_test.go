package daemon

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestEventName(t *testing.T) {
	base := corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: "ConfigMap", Namespace: "team", Name: "page", UID: "1", ResourceVersion: "7"},
		Type:           corev1.EventTypeWarning, Reason: "UnknownCluster", Message: "no cluster \"nowhere\" has joined yet",
	}
	cases := map[string]struct {
		reason string
		change func(*corev1.Event)
		same   bool
	}{
		"Edited":   {"the object has changed, the cause has not", func(e *corev1.Event) { e.InvolvedObject.ResourceVersion = "8" }, true},
		"Remade":   {"another object of that name", func(e *corev1.Event) { e.InvolvedObject.UID = "2" }, false},
		"Message":  {"another cluster", func(e *corev1.Event) { e.Message = "no cluster \"elsewhere\" has joined yet" }, false},
		"Reason":   {"another cause", func(e *corev1.Event) { e.Reason = "TooLarge" }, false},
		"LongName": {"a name as long as names can be", func(e *corev1.Event) { e.InvolvedObject.Name = strings.Repeat("a", 253) }, false},
		"Strange":  {"a name that an Event could not have", func(e *corev1.Event) { e.InvolvedObject.Name = "system:A" }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			changed := base
			tc.change(&changed)
			got := eventName(&changed)
			if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 {
				t.Errorf("%q is not a valid name: %v", got, problems)
			}
			if same := got == eventName(&base); same != tc.same {
				t.Errorf("%s: the same name: %v, want %v", tc.reason, same, tc.same)
			}
		})
	}
}
