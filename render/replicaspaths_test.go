package render

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	deployments = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	jobs        = schema.GroupKind{Group: "batch", Kind: "Job"}
	widgets     = schema.GroupKind{Group: "example.io", Kind: "Widget"}
)

type fields = map[string]any

func TestScalePathsOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		kind   schema.GroupKind
		path   string
		want   string
	}{
		"Deployment":            {"a built-in kind", deployments, "", "spec.replicas"},
		"StatefulSet":           {"a built-in kind", schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, "", "spec.replicas"},
		"ReplicaSet":            {"a built-in kind", schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, "", "spec.replicas"},
		"ReplicationController": {"a built-in kind", schema.GroupKind{Kind: "ReplicationController"}, "", "spec.replicas"},
		"Job":                   {"a Job runs as many Pods as its parallelism says", jobs, "", "spec.parallelism"},
		"BuiltinWithPath":       {"no definition changes a built-in kind", deployments, ".spec.size", "spec.replicas"},
		"DaemonSet":             {"its Pods are counted by nodes", schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, "", ""},
		"CronJob":               {"each member would start Jobs of its own", schema.GroupKind{Group: "batch", Kind: "CronJob"}, "", ""},
		"ConfigMap":             {"it has no Pods", schema.GroupKind{Kind: "ConfigMap"}, "", ""},
		"ForeignDeployment":     {"the group tells it from the built-in kind", schema.GroupKind{Group: "example.io", Kind: "Deployment"}, "", ""},
		"Custom":                {"its definition has a scale subresource", widgets, ".spec.replicas", "spec.replicas"},
		"CustomDeep":            {"the field may be deep", widgets, ".spec.pool_1.worker-Count", "spec.pool_1.worker-Count"},
		"CustomWithout":         {"its definition has no scale subresource", widgets, "", ""},
		"NoDot":                 {"a path begins with a dot", widgets, "spec.replicas", ""},
		"Root":                  {"not a path", widgets, ".", ""},
		"SpecAlone":             {"the spec is not a number", widgets, ".spec", ""},
		"TrailingDot":           {"the last field has no name", widgets, ".spec.", ""},
		"TwoDots":               {"a field has no name", widgets, ".spec..replicas", ""},
		"NotUnderSpec":          {"anything else may be what identifies the object", widgets, ".metadata.generation", ""},
		"LikeSpec":              {"another field", widgets, ".specs.replicas", ""},
		"Index":                 {"a list", widgets, ".spec.pools[0].replicas", ""},
		"Quotes":                {"a key in brackets", widgets, ".spec['replicas']", ""},
		"Wildcard":              {"many fields", widgets, ".spec.*.replicas", ""},
		"Braces":                {"a path for kubectl", widgets, "{.spec.replicas}", ""},
		"Space":                 {"a blank", widgets, ".spec.replicas ", ""},
		"LineBreak":             {"an end of line is not the end", widgets, ".spec.replicas\n", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			paths, ok := ScalePathsOf(tc.kind, tc.path)
			if got := strings.Join(paths.replicas, "."); got != tc.want || ok != (tc.want != "") {
				t.Errorf("%s: the path is %q, %v", tc.reason, got, ok)
			}
			if isJob := tc.kind == jobs; (paths.completions != nil) != isJob {
				t.Errorf("%s: the completions are at %q", tc.reason, paths.completions)
			}
		})
	}
}

func TestReadScale(t *testing.T) {
	spec := func(spec any) fields { return fields{"spec": spec} }
	cases := map[string]struct {
		reason string
		kind   schema.GroupKind
		obj    fields
		want   Scale
		says   string
	}{
		"Replicas":           {"the usual case", deployments, spec(fields{"replicas": int64(3)}), Scale{Replicas: 3}, ""},
		"Float":              {"some decoders make every number a float64", deployments, spec(fields{"replicas": 3.0}), Scale{Replicas: 3}, ""},
		"None":               {"scaled to nothing", deployments, spec(fields{"replicas": int64(0)}), Scale{}, ""},
		"Most":               {"the limit itself", deployments, spec(fields{"replicas": int64(math.MaxInt32)}), Scale{Replicas: math.MaxInt32}, ""},
		"Missing":            {"the API server's default", deployments, spec(fields{}), Scale{Replicas: 1}, ""},
		"Null":               {"for the API server, null is missing", deployments, spec(fields{"replicas": nil}), Scale{Replicas: 1}, ""},
		"NoSpec":             {"an object as users write it", deployments, fields{}, Scale{Replicas: 1}, ""},
		"NilObject":          {"nothing was decoded", deployments, nil, Scale{Replicas: 1}, ""},
		"NoInterference":     {"a Deployment has no completions", deployments, spec(fields{"replicas": int64(3), "completions": int64(9), "completionMode": "Indexed"}), Scale{Replicas: 3}, ""},
		"Job":                {"both numbers", jobs, spec(fields{"parallelism": int64(3), "completions": int64(9)}), Scale{3, 9, true}, ""},
		"NonIndexed":         {"the API server's default", jobs, spec(fields{"parallelism": int64(3), "completions": int64(9), "completionMode": "NonIndexed"}), Scale{3, 9, true}, ""},
		"Queue":              {"a Job that works off a queue has no completions", jobs, spec(fields{"parallelism": int64(3)}), Scale{Replicas: 3}, ""},
		"QueueNull":          {"for the API server, null is missing", jobs, spec(fields{"parallelism": int64(3), "completions": nil}), Scale{Replicas: 3}, ""},
		"FewCompletions":     {"no more Pods run than are to complete", jobs, spec(fields{"parallelism": int64(8), "completions": int64(2)}), Scale{2, 2, true}, ""},
		"NoCompletions":      {"it is complete at once", jobs, spec(fields{"parallelism": int64(8), "completions": int64(0)}), Scale{0, 0, true}, ""},
		"CompletionsAlone":   {"the API server's default for parallelism", jobs, spec(fields{"completions": int64(9)}), Scale{1, 9, true}, ""},
		"EmptyJob":           {"the API server's defaults for both", jobs, spec(fields{}), Scale{1, 1, true}, ""},
		"Paused":             {"parallelism 0 pauses a Job", jobs, spec(fields{"parallelism": int64(0), "completions": int64(9)}), Scale{0, 9, true}, ""},
		"Custom":             {"by the path of its definition", widgets, spec(fields{"size": int64(4)}), Scale{Replicas: 4}, ""},
		"CustomMissing":      {"its scale subresource answers with an error too", widgets, spec(fields{}), Scale{}, `it has no "spec.size" to divide`},
		"CustomNoSpec":       {"its scale subresource answers with an error too", widgets, fields{}, Scale{}, `it has no "spec.size" to divide`},
		"Indexed":            {"indexes cannot be divided", jobs, spec(fields{"parallelism": int64(3), "completions": int64(9), "completionMode": "Indexed"}), Scale{}, "an Indexed Job cannot be divided"},
		"NotScaled":          {"the kind has no replicas", schema.GroupKind{Kind: "ConfigMap"}, spec(fields{"replicas": int64(3)}), Scale{}, "its kind has no replicas"},
		"Negative":           {"an API server rejects it", deployments, spec(fields{"replicas": int64(-1)}), Scale{}, `its "spec.replicas" is negative`},
		"NegativeFloat":      {"an API server rejects it", deployments, spec(fields{"replicas": -1.0}), Scale{}, `its "spec.replicas" is negative`},
		"TooMany":            {"an API server rejects it", deployments, spec(fields{"replicas": int64(math.MaxInt32) + 1}), Scale{}, "is greater than 2147483647"},
		"FarTooMany":         {"an API server rejects it", deployments, spec(fields{"replicas": int64(math.MaxInt64)}), Scale{}, "is greater than 2147483647"},
		"Fraction":           {"an API server rejects it", deployments, spec(fields{"replicas": 1.5}), Scale{}, "is not a whole number"},
		"NotANumber":         {"no JSON has it", deployments, spec(fields{"replicas": math.NaN()}), Scale{}, "is not a whole number"},
		"Infinite":           {"no JSON has it", deployments, spec(fields{"replicas": math.Inf(1)}), Scale{}, "is greater than 2147483647"},
		"Text":               {"an API server rejects it", deployments, spec(fields{"replicas": "3"}), Scale{}, `its "spec.replicas" is not a number`},
		"Object":             {"an API server rejects it", deployments, spec(fields{"replicas": fields{}}), Scale{}, `its "spec.replicas" is not a number`},
		"SpecIsText":         {"an API server rejects it", deployments, spec("x"), Scale{}, `its "spec" is not an object`},
		"SpecIsList":         {"an API server rejects it", deployments, spec([]any{}), Scale{}, `its "spec" is not an object`},
		"OddCompletions":     {"an API server rejects it", jobs, spec(fields{"parallelism": int64(3), "completions": true}), Scale{}, `its "spec.completions" is not a number`},
		"NegativeCompletion": {"an API server rejects it", jobs, spec(fields{"parallelism": int64(3), "completions": int64(-3)}), Scale{}, `its "spec.completions" is negative`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := ""
			if tc.kind == widgets {
				path = ".spec.size"
			}
			paths, _ := ScalePathsOf(tc.kind, path)
			got, err := paths.Read(tc.obj)
			checkSays(t, tc.reason, err, tc.says)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// checkSays wants an error that contains a text, or no error if that is empty.
func checkSays(t *testing.T, reason string, err error, says string) {
	t.Helper()
	if err != nil {
		checkMessage(t, err)
	}
	if (err != nil) != (says != "") || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("%s: the error is %v", reason, err)
	}
}

func TestSetScale(t *testing.T) {
	cases := map[string]struct {
		reason string
		kind   schema.GroupKind
		path   string
		obj    fields
		share  Scale
		want   fields
		says   string
	}{
		"Replicas":         {"the usual case", deployments, "", fields{"spec": fields{"replicas": int64(9), "paused": true}}, Scale{Replicas: 3}, fields{"spec": fields{"replicas": int64(3), "paused": true}}, ""},
		"Zero":             {"a cluster with the weight 0", deployments, "", fields{"spec": fields{"replicas": int64(9)}}, Scale{}, fields{"spec": fields{"replicas": int64(0)}}, ""},
		"Missing":          {"without it, every member would have the default", deployments, "", fields{"spec": fields{}}, Scale{Replicas: 0}, fields{"spec": fields{"replicas": int64(0)}}, ""},
		"Job":              {"both numbers", jobs, "", fields{"spec": fields{"parallelism": int64(6), "completions": int64(9)}}, Scale{2, 3, true}, fields{"spec": fields{"parallelism": int64(2), "completions": int64(3)}}, ""},
		"JobZero":          {"a Job that is complete at once", jobs, "", fields{"spec": fields{"parallelism": int64(6), "completions": int64(9)}}, Scale{0, 0, true}, fields{"spec": fields{"parallelism": int64(0), "completions": int64(0)}}, ""},
		"Queue":            {"a Job that works off a queue gets no completions", jobs, "", fields{"spec": fields{"parallelism": int64(6)}}, Scale{Replicas: 2}, fields{"spec": fields{"parallelism": int64(2)}}, ""},
		"NoCompletions":    {"a Deployment has none", deployments, "", fields{"spec": fields{}}, Scale{2, 3, true}, fields{"spec": fields{"replicas": int64(2)}}, ""},
		"Deep":             {"the field of a custom resource", widgets, ".spec.a.b", fields{"spec": fields{"a": fields{"b": int64(5), "c": "x"}}}, Scale{Replicas: 2}, fields{"spec": fields{"a": fields{"b": int64(2), "c": "x"}}}, ""},
		"NoSpec":           {"nothing to set it in", deployments, "", fields{"a": "b"}, Scale{Replicas: 2}, fields{"a": "b"}, `it has no "spec"`},
		"NullSpec":         {"nothing to set it in", deployments, "", fields{"spec": nil}, Scale{Replicas: 2}, fields{"spec": nil}, `it has no "spec"`},
		"NilObject":        {"nothing was decoded", deployments, "", nil, Scale{Replicas: 2}, nil, `it has no "spec"`},
		"OddSpec":          {"an API server rejects it", deployments, "", fields{"spec": "x"}, Scale{Replicas: 2}, fields{"spec": "x"}, `its "spec" is not an object`},
		"OddParent":        {"an API server rejects it", widgets, ".spec.a.b", fields{"spec": fields{"a": []any{}}}, Scale{Replicas: 2}, fields{"spec": fields{"a": []any{}}}, `its "spec.a" is not an object`},
		"NilParent":        {"a map that is nil cannot be set", widgets, ".spec.a.b", fields{"spec": fields{"a": fields(nil)}}, Scale{Replicas: 2}, fields{"spec": fields{"a": fields(nil)}}, `it has no "spec.a"`},
		"NotScaled":        {"the kind has no replicas", widgets, "", fields{"spec": fields{}}, Scale{Replicas: 2}, fields{"spec": fields{}}, "its kind has no replicas"},
		"Negative":         {"no division has it", deployments, "", fields{"spec": fields{}}, Scale{Replicas: -1}, fields{"spec": fields{}}, "-1 is not a number of replicas"},
		"TooMany":          {"no division has it", deployments, "", fields{"spec": fields{}}, Scale{Replicas: math.MaxInt32 + 1}, fields{"spec": fields{}}, "is not a number of replicas"},
		"NegativeComplete": {"nothing is half set", jobs, "", fields{"spec": fields{}}, Scale{1, -1, true}, fields{"spec": fields{}}, "-1 is not a number of replicas"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			paths, _ := ScalePathsOf(tc.kind, tc.path)
			checkSays(t, tc.reason, paths.Set(tc.obj, tc.share), tc.says)
			if diff := cmp.Diff(tc.want, tc.obj); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDivideScale(t *testing.T) {
	type weights = map[string]int64
	cases := map[string]struct {
		reason  string
		scale   Scale
		weights weights
		want    map[string]Scale
	}{
		"Replicas":     {"no completions", Scale{Replicas: 3}, weights{"a": 2, "b": 1}, map[string]Scale{"a": {Replicas: 2}, "b": {Replicas: 1}}},
		"Job":          {"both numbers", Scale{3, 9, true}, weights{"a": 2, "b": 1}, map[string]Scale{"a": {2, 6, true}, "b": {1, 3, true}}},
		"ByShares":     {"completions follow the shares of parallelism, not the weights", Scale{3, 12, true}, weights{"a": 1, "b": 1}, map[string]Scale{"a": {2, 8, true}, "b": {1, 4, true}}},
		"NoIdleShare":  {"a member without Pods gets nothing to complete", Scale{2, 100, true}, weights{"a": 1, "b": 1, "c": 1}, map[string]Scale{"a": {1, 50, true}, "b": {1, 50, true}, "c": {0, 0, true}}},
		"Paused":       {"without parallelism, by weight", Scale{0, 9, true}, weights{"a": 2, "b": 1}, map[string]Scale{"a": {0, 6, true}, "b": {0, 3, true}}},
		"WeightZero":   {"it is complete at once there", Scale{3, 9, true}, weights{"a": 1, "b": 0}, map[string]Scale{"a": {3, 9, true}, "b": {0, 0, true}}},
		"AllZero":      {"no cluster may run it", Scale{3, 9, true}, weights{"a": 0}, map[string]Scale{"a": {0, 0, true}}},
		"NoCompletion": {"nothing to do", Scale{0, 0, true}, weights{"a": 1}, map[string]Scale{"a": {0, 0, true}}},
		"NoTargets":    {"no cluster", Scale{Replicas: 3}, nil, map[string]Scale{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.scale.Divide(tc.weights, false)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// FuzzScale: what is set is what is read, nothing else changes, and a Job never waits in a
// member without Pods.
func FuzzScale(f *testing.F) {
	f.Add([]byte(`{"spec":{"replicas":5}}`), ".spec.replicas", int64(1), int64(2))
	f.Add([]byte(`{"spec":{"parallelism":5,"completions":100}}`), "", int64(1), int64(0))
	f.Add([]byte(`{"spec":{"parallelism":5,"completions":2,"completionMode":"Indexed"}}`), "", int64(1), int64(1))
	f.Add([]byte(`{"spec":{"a":{"b":2e9}}}`), ".spec.a.b", int64(1), int64(1_000_000))
	f.Add([]byte(`{"spec":[]}`), ".spec.a[0]", int64(-1), int64(0))
	f.Fuzz(func(t *testing.T, encoded []byte, path string, a, b int64) {
		var obj fields
		if json.Unmarshal(encoded, &obj) != nil {
			return
		}
		for _, kind := range []schema.GroupKind{deployments, jobs, widgets} {
			paths, _ := ScalePathsOf(kind, path)
			whole, err := paths.Read(obj)
			if err != nil {
				checkMessage(t, err)
				continue
			}
			weights := map[string]int64{"a": a, "b": b}
			for cluster, share := range whole.Divide(weights, true) {
				checkShare(t, paths, obj, share)
				if share.HasCompletions && whole.Replicas > 0 && share.Replicas == 0 && share.Completions > 0 {
					t.Errorf("%+v over %v: %s has %+v", whole, weights, cluster, share)
				}
			}
		}
	})
}

// checkShare sets a share in a copy of an object.
func checkShare(t *testing.T, paths ScalePaths, obj fields, share Scale) {
	t.Helper()
	own := runtime.DeepCopyJSON(obj)
	if err := paths.Set(own, share); err != nil {
		checkMessage(t, err)
		if diff := cmp.Diff(obj, own); diff != "" {
			t.Errorf("a failed Set changes the object: -before +after:\n%s", diff)
		}
		return
	}
	if got, err := paths.Read(own); err != nil || got != share {
		t.Errorf("set %+v, read %+v: %v", share, got, err)
	}
	for _, path := range [][]string{paths.replicas, paths.completions} {
		if len(path) > 0 {
			drop(obj, own, path)
		}
	}
	if diff := cmp.Diff(obj, own); diff != "" {
		t.Errorf("Set changes something else: -before +after:\n%s", diff)
	}
}

// drop makes both objects equal in one field, which may be missing in the first.
func drop(obj, own fields, path []string) {
	for _, field := range path[:len(path)-1] {
		obj, own = fieldsOf(obj[field]), fieldsOf(own[field])
	}
	last := path[len(path)-1]
	delete(own, last)
	if value, ok := obj[last]; ok {
		own[last] = value
	}
}
