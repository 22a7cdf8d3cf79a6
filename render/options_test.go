package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseOptions(t *testing.T) {
	cases := map[string]struct {
		reason      string
		annotations map[string]string
		want        Options
		fails       bool
	}{
		"None":           {"No annotation is no wish.", nil, Options{}, false},
		"Suspend":        {"True suspends.", map[string]string{SuspendAnnotation: "true"}, Options{Suspend: true}, false},
		"NotSuspend":     {"False does not: it may replace a namespace's default.", map[string]string{SuspendAnnotation: "false"}, Options{}, false},
		"Preserve":       {"True preserves.", map[string]string{PreserveOnDeletionAnnotation: "true"}, Options{PreserveOnDeletion: true}, false},
		"Overwrite":      {"Overwrite is a wish.", map[string]string{ConflictResolutionAnnotation: "overwrite"}, Options{Overwrite: true}, false},
		"Abort":          {"Abort is the default.", map[string]string{ConflictResolutionAnnotation: "abort"}, Options{}, false},
		"KarmadaOwn":     {"Karmada's own key is a smuggler's.", map[string]string{"work.karmada.io/conflict-resolution": "overwrite"}, Options{}, false},
		"UpperCase":      {"Kubernetes has no such booleans.", map[string]string{SuspendAnnotation: "True"}, Options{}, true},
		"EmptyValue":     {"Nor this one.", map[string]string{PreserveOnDeletionAnnotation: ""}, Options{}, true},
		"Boolean":        {"A word of the other annotations.", map[string]string{ConflictResolutionAnnotation: "true"}, Options{}, true},
		"Space":          {"A space is a mistake that someone should see.", map[string]string{SuspendAnnotation: "true "}, Options{}, true},
		"Huge":           {"The message stays short.", map[string]string{SuspendAnnotation: strings.Repeat("\u2028", 80<<10)}, Options{}, true},
		"NothingOfABad":  {"One bad value spoils the rest.", map[string]string{SuspendAnnotation: "true", ConflictResolutionAnnotation: "x"}, Options{}, true},
		"EverythingAtOn": {"All wishes together.", map[string]string{SuspendAnnotation: "true", PreserveOnDeletionAnnotation: "true", ConflictResolutionAnnotation: "overwrite"}, Options{true, true, true}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseOptions(tc.annotations)
			if (err != nil) != tc.fails {
				t.Fatalf("%s\nParseOptions: %v", tc.reason, err)
			}
			if err != nil {
				checkMessage(t, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
