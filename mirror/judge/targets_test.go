package judge

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// theClusters are the clusters of TestTargets: three have joined, one is leaving, and one
// name does not exist.
var theClusters = map[string]ClusterFacts{
	"prod-1":  {State: ClusterJoined, Labels: labels.Set{"tier": "core"}},
	"prod-2":  {State: ClusterJoined, Labels: labels.Set{"tier": "edge"}},
	"test-1":  {State: ClusterJoined, Labels: labels.Set{"tier": "edge"}},
	"leaving": {State: ClusterTerminating, Labels: labels.Set{"tier": "edge"}},
}

// targetValue is a value of one of the two annotations that choose clusters, and its
// meaning spelled out so that it needs no parser.
type targetValue struct {
	text               string
	given, bad         bool
	includes, excludes []string
}

var clustersValues = []targetValue{
	{},
	{text: "", given: true}, // opts out
	{text: "prod-1", given: true, includes: []string{"prod-1"}},
	{text: " prod-1 , absent,", given: true, includes: []string{"prod-1", "absent"}},
	{text: "prod-*", given: true, includes: []string{"prod-1", "prod-2"}},
	{text: "*", given: true, includes: []string{"prod-1", "prod-2", "test-1", "leaving"}},
	{text: "!prod-2,*", given: true, includes: []string{"prod-1", "test-1", "leaving"}, excludes: []string{"prod-2"}},
	{text: "prod-1,test-1,!test-*", given: true, includes: []string{"prod-1"}, excludes: []string{"test-1"}},
	{text: "leaving", given: true, includes: []string{"leaving"}},
	{text: "Prod 1", given: true, bad: true},
	{text: ",", given: true, bad: true},
}

var selectorValues = []targetValue{
	{},
	{text: "tier=edge", given: true, includes: []string{"prod-2", "test-1", "leaving"}},
	{text: "tier notin (edge)", given: true, includes: []string{"prod-1"}},
	{text: "tier=", given: true},
	{text: "tier=edge,,", given: true, bad: true},
	{text: "", given: true, bad: true}, // everything
}

// TestTargets tries every combination of values on an object and on its Namespace, with a
// Work on every cluster, against a second implementation of the rules.
func TestTargets(t *testing.T) {
	tried := 0
	for _, own := range clustersValues {
		for _, ownSelector := range selectorValues {
			for _, inherited := range clustersValues {
				for _, inheritedSelector := range selectorValues {
					tried++
					object, namespace := wishesOf(own, ownSelector), wishesOf(inherited, inheritedSelector)
					want := expected(own, ownSelector, inherited, inheritedSelector)
					if diff := cmp.Diff(want, decisionsFor(object, namespace)); diff != "" {
						t.Errorf("%q in a Namespace with %q, -want +got:\n%s", object, namespace, diff)
					}
				}
			}
		}
	}
	t.Logf("%d combinations", tried)
}

func wishesOf(clusters, selector targetValue) sample.Annotations {
	wishes := sample.Annotations{}
	if clusters.given {
		wishes[render.ClustersAnnotation] = clusters.text
	}
	if selector.given {
		wishes[render.ClusterSelectorAnnotation] = selector.text
	}
	return wishes
}

// expected returns the decisions for the existing Works, and for the absent cluster if it
// is named.
func expected(own, ownSelector, inherited, inheritedSelector targetValue) map[string]Decision {
	optsOut := own.given && own.text == ""
	clusters, selector := own, ownSelector
	if optsOut {
		clusters = targetValue{}
	} else {
		if !own.given {
			clusters = inherited
		}
		if !ownSelector.given {
			selector = inheritedSelector
		}
	}
	inheritsOptOut := !own.given && inherited.given && inherited.text == ""
	all := func(d Decision) map[string]Decision {
		return map[string]Decision{"prod-1": d, "prod-2": d, "test-1": d, "leaving": d}
	}
	switch {
	case optsOut && !ownSelector.given && (inherited.given || inheritedSelector.given):
		return all(Unwanted)
	case optsOut && !ownSelector.given:
		return all(Unknown) // there is nothing to opt out of
	case clusters.bad || selector.bad || inherited.bad: // its exclusions are unknown
		return all(Unknown)
	case inheritsOptOut:
		return all(Unknown) // there is nothing above a Namespace either
	}
	decisions := all(Unwanted)
	for _, cluster := range slices.Concat(clusters.includes, selector.includes) {
		if slices.Contains(clusters.excludes, cluster) || slices.Contains(inherited.excludes, cluster) {
			continue
		}
		decisions[cluster] = Wanted
		if cluster == "leaving" || cluster == "absent" {
			decisions[cluster] = Unknown
		}
	}
	return decisions
}

func decisionsFor(object, namespace sample.Annotations) map[string]Decision {
	f := Facts{ID: sample.Page, Live: true, Source: NewSource(sample.Object(object), render.ReadWishes(namespace)), Clusters: maps.Clone(theClusters), Works: map[string]*state.Work{}}
	for cluster := range theClusters {
		f.Works[cluster] = pageWork(pageSource("1", cluster), cluster)
	}
	decisions := map[string]Decision{}
	for cluster, target := range Decide(f).Targets {
		decisions[cluster] = target.Decision
	}
	return decisions
}

// TestOptions tries every combination of the other annotations on an object and on its
// Namespace.
func TestOptions(t *testing.T) {
	type option struct {
		key, no, yes string
		// path is the path of the field in the Work; nil for an annotation of the manifest.
		path []string
	}
	options := []option{
		{render.SuspendAnnotation, "false", "true", []string{"spec", "suspendDispatching"}},
		{render.PreserveOnDeletionAnnotation, "false", "true", []string{"spec", "preserveResourcesOnDeletion"}},
		{render.ConflictResolutionAnnotation, "abort", "overwrite", nil},
	}
	isSet := func(t *testing.T, o option, work *unstructured.Unstructured) bool {
		if o.path != nil {
			set, _, err := unstructured.NestedBool(work.Object, o.path...)
			if err != nil {
				t.Fatal(err)
			}
			return set
		}
		manifests, _, _ := unstructured.NestedSlice(work.Object, "spec", "workload", "manifests")
		value, _, _ := unstructured.NestedString(manifests[0].(map[string]any), "metadata", "annotations", "work.karmada.io/conflict-resolution")
		return value == "overwrite"
	}
	for _, o := range options {
		for _, own := range []string{"-", o.no, o.yes, "Nonsense"} {
			for _, inherited := range []string{"-", o.no, o.yes, "Nonsense"} {
				t.Run(fmt.Sprintf("%s/%s/%s", o.key, own, inherited), func(t *testing.T) {
					object, namespace := sample.Annotations{render.ClustersAnnotation: "prod-1"}, sample.Annotations{}
					effective := inherited
					if inherited != "-" {
						namespace[o.key] = inherited
					}
					if own != "-" {
						object[o.key], effective = own, own
					}
					f := Facts{ID: sample.Page, Source: NewSource(sample.Object(object), render.ReadWishes(namespace)), Clusters: theClusters}
					v := Decide(f)
					plan := v.Plan()
					if effective == "Nonsense" {
						if len(plan) > 0 || len(v.Refusals) != 1 || v.Refusals[0].Reason != InvalidAnnotation {
							t.Fatalf("%v and %v", plan, v.Refusals)
						}
						return
					}
					if len(plan) != 1 {
						t.Fatalf("%v and %v", plan, v.Refusals)
					}
					work := &unstructured.Unstructured{}
					body, err := plan[0].Body(v)
					if err != nil {
						t.Fatal(err)
					}
					if err := work.UnmarshalJSON(body); err != nil {
						t.Fatal(err)
					}
					if got := isSet(t, o, work); got != (effective == o.yes) {
						t.Errorf("it is %v", got)
					}
				})
			}
		}
	}
}
