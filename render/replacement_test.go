package render

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// TestReplacement is judged by what an API server makes of a merge patch without nulls in lists.
func TestReplacement(t *testing.T) {
	const work = `{"kind":"Work","metadata":{"resourceVersion":"7","uid":"u","labels":{"ours":"1","theirs":"2"},"annotations":{"gone":"x"}},"spec":{"suspendDispatching":true,"workload":{"manifests":[{"old":1}]}},"status":{}}`
	for name, tc := range map[string]struct{ patch, metadata, spec string }{
		"Content": {
			`{"metadata":{"resourceVersion":"6","labels":{"ours":"3"},"annotations":{"gone":null,"new":"y"}},"spec":{"suspendDispatching":null,"workload":{"manifests":[{"a":null,"b":[null]}]}}}`,
			`{"resourceVersion":"6","uid":"u","labels":{"ours":"3","theirs":"2"},"annotations":{"new":"y"}}`, `{"workload":{"manifests":[{"a":null,"b":[null]}]}}`,
		},
		"MissingParent": {
			`{"metadata":{"more":{"in":{"x":null,"y":1}}},"spec":{"workload":{"manifests":[{"a":null}]}}}`,
			`{"resourceVersion":"7","uid":"u","labels":{"ours":"1","theirs":"2"},"annotations":{"gone":"x"},"more":{"in":{"y":1}}}`, `{"suspendDispatching":true,"workload":{"manifests":[{"a":null}]}}`,
		},
	} {
		if !LosesNulls([]byte(tc.patch)) {
			t.Errorf("%s: the patch loses nothing", name)
		}
		var live map[string]any
		err := kjson.Unmarshal([]byte(work), &live)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := Replacement(live, []byte(tc.patch))
		var operations []struct {
			Op, Path string
			Value    any
		}
		if err != nil || json.Unmarshal(patch, &operations) != nil || len(operations) != 2 {
			t.Fatalf("%s: %s, %v", name, patch, err)
		}
		for i, want := range []string{tc.metadata, tc.spec} {
			var value any
			if err := json.Unmarshal([]byte(want), &value); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(value, operations[i].Value); diff != "" || operations[i].Op != "add" || operations[i].Path != []string{"/metadata", "/spec"}[i] {
				t.Errorf("%s: %s of %s: %s", name, operations[i].Op, operations[i].Path, diff)
			}
		}
	}
	for _, patch := range []string{`{"metadata":{"labels":{"a":null}},"spec":{"workload":{"manifests":[{"a":1}]}}}`, `{"spec":{"suspendDispatching":null}}`} {
		if LosesNulls([]byte(patch)) {
			t.Errorf("%s loses something", patch)
		}
	}
}
