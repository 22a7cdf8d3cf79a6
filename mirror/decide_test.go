package mirror

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
)

var page = render.Identity{Kind: "ConfigMap", Namespace: "shop", Name: "page"}

// pageSource is the source with an annotation; uid tells its incarnations apart.
func pageSource(uid, clusters string) *Source {
	return NewSource(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"namespace": page.Namespace, "name": page.Name, "uid": uid,
			"annotations": map[string]any{render.ClustersAnnotation: clusters},
		},
		"data": map[string]any{"key": "value"},
	}})
}

// pageWork is the Work that a source's template makes, as it is observed.
func pageWork(s *Source, cluster string, changes ...func(*unstructured.Unstructured)) *Work {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(s.Template.Work(cluster)); err != nil {
		panic(err) // the template's own output
	}
	u.SetUID("work-uid")
	u.SetResourceVersion("7")
	for _, change := range changes {
		change(u)
	}
	return NewWork(u)
}

func terminating(u *unstructured.Unstructured) {
	now := metav1.Now()
	u.SetDeletionTimestamp(&now)
}

func bindingLabel(u *unstructured.Unstructured) {
	u.SetLabels(map[string]string{"resourcebinding.karmada.io/permanent-id": "x"})
}

func relabelled(u *unstructured.Unstructured) {
	u.SetLabels(map[string]string{"resourcebinding": "none"})
}

func edited(u *unstructured.Unstructured) {
	if err := unstructured.SetNestedField(u.Object, true, "spec", "suspendDispatching"); err != nil {
		panic(err)
	}
}

func TestDecideAndPlan(t *testing.T) {
	asks := pageSource("1", "m1")
	stub := pageSource("1", "m1")
	stub.Asks, stub.Terms, stub.Template = false, render.Terms{}, nil
	joined := map[string]ClusterState{"m1": ClusterJoined, "m2": ClusterJoined}
	type result struct {
		Decisions map[string]Decision
		Refusals  []Reason
		Unproven  bool
		Plan      []OperationKind
	}
	cases := map[string]struct {
		reason string
		facts  Facts
		want   result
	}{
		"New": {"a cluster that is asked for and has no Work gets one",
			Facts{Source: asks, Clusters: joined},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Create}}},
		"InSync": {"a Work as wanted is left alone",
			Facts{Source: asks, Clusters: joined, Works: map[string]*Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Wanted}}},
		"Edited": {"an edited Work is repaired",
			Facts{Source: asks, Clusters: joined, Works: map[string]*Work{"m1": pageWork(asks, "m1", edited)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"Recreated": {"a source with another UID is written anew",
			Facts{Source: pageSource("2", "m1"), Clusters: joined, Works: map[string]*Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"Unlabelled": {"a Work of ours whose labels were taken away is repaired",
			Facts{Source: asks, Clusters: joined, Works: map[string]*Work{"m1": pageWork(asks, "m1", relabelled)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"WorkTerminating": {"a Work that is going is waited for",
			Facts{Source: asks, Clusters: joined, Works: map[string]*Work{"m1": pageWork(asks, "m1", terminating, edited)}},
			result{Decisions: map[string]Decision{"m1": Wanted}}},
		"NoSuchCluster": {"a warning, and no Work",
			Facts{Source: asks},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{UnknownCluster}}},
		"ClusterGone": {"a cluster that is missing loses nothing, even by a live read",
			Facts{Source: asks, Live: true, Works: map[string]*Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{UnknownCluster}}},
		"ClusterTerminating": {"nothing is recreated in a cluster that leaves",
			Facts{Source: asks, Clusters: map[string]ClusterState{"m1": ClusterTerminating}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"Foreign": {"a Work of somebody else is not touched",
			Facts{Source: asks, Clusters: joined, Works: map[string]*Work{"m1": pageWork(asks, "m1", bindingLabel)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"ForeignUnwanted": {"and not deleted, whatever a live read says",
			Facts{Live: true, Works: map[string]*Work{"m1": pageWork(asks, "m1", bindingLabel)}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"AbsentInCache": {"the cache proves nothing",
			Facts{Works: map[string]*Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Unproven: true}},
		"AbsentLive": {"a live read does",
			Facts{Live: true, Works: map[string]*Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"AbsentLiveUnlabelled": {"a Work without our label is not deleted",
			Facts{Live: true, Works: map[string]*Work{"m1": pageWork(asks, "m1", relabelled)}},
			result{Decisions: map[string]Decision{"m1": Unwanted}}},
		"AbsentLiveTerminating": {"a Work that is going is not deleted again",
			Facts{Live: true, Works: map[string]*Work{"m1": pageWork(asks, "m1", terminating)}},
			result{Decisions: map[string]Decision{"m1": Unwanted}}},
		"AnnotationRemoved": {"a source that does not ask any more, by a live read",
			Facts{Source: stub, Live: true, Clusters: joined, Works: map[string]*Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"Retargeted": {"creates go before deletes",
			Facts{Source: pageSource("1", "m2"), Live: true, Clusters: joined, Works: map[string]*Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted, "m2": Wanted}, Plan: []OperationKind{Create, Delete}}},
		"RetargetedInCache": {"what is wanted need not wait for the proof of what is not",
			Facts{Source: pageSource("1", "m2"), Clusters: joined, Works: map[string]*Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown, "m2": Wanted}, Unproven: true, Plan: []OperationKind{Create}}},
		"BadAnnotation": {"a value that cannot be parsed changes nothing",
			Facts{Source: pageSource("1", "../m1"), Live: true, Clusters: joined, Works: map[string]*Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{InvalidAnnotation}}},
		"NotWatched": {"what is not watched is not judged",
			Facts{Unknown: "its resource has not synced", Live: true, Works: map[string]*Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"Glob": {"a glob selects the clusters that there are",
			Facts{Source: pageSource("1", "m*,!m2"), Clusters: joined},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Create}}},
		"GlobClusterGone": {"a cluster that a glob still names and that is missing loses nothing",
			Facts{Source: pageSource("1", "m*"), Live: true, Works: map[string]*Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{UnknownCluster}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.facts.ID = page
			verdict := Decide(c.facts)
			got := result{Decisions: map[string]Decision{}, Unproven: verdict.Unproven}
			for cluster, target := range verdict.Targets {
				got.Decisions[cluster] = target.Decision
				if target.Because == "" {
					t.Errorf("no reason is given for %s", cluster)
				}
			}
			for _, refusal := range verdict.Refusals {
				got.Refusals = append(got.Refusals, refusal.Reason)
			}
			for _, op := range Plan(verdict, c.facts.Works) {
				got.Plan = append(got.Plan, op.Kind)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestNothingIsDeletedWithoutALiveRead tries every combination of what the facts
// can be.
func TestNothingIsDeletedWithoutALiveRead(t *testing.T) {
	asks := pageSource("1", "m1")
	sources := []*Source{nil, asks, pageSource("2", "m2"), pageSource("1", "m*"), pageSource("1", "")}
	observed := []*Work{nil, pageWork(asks, "m1"), pageWork(asks, "m1", edited), pageWork(asks, "m1", bindingLabel), pageWork(asks, "m1", terminating)}
	for _, source := range sources {
		for _, w := range observed {
			for _, state := range []ClusterState{ClusterMissing, ClusterJoined, ClusterTerminating} {
				for _, unknown := range []string{"", "not synced"} {
					f := Facts{ID: page, Unknown: unknown, Source: source, Clusters: map[string]ClusterState{"m1": state}, Works: map[string]*Work{}}
					if w != nil {
						f.Works["m1"] = w
					}
					for _, op := range Plan(Decide(f), f.Works) {
						if op.Kind == Delete {
							t.Errorf("a deletion from the cache alone: %+v", f)
						}
					}
					f.Live = true
					for _, op := range Plan(Decide(f), f.Works) {
						if op.Kind == Delete && (unknown != "" || w.Foreign != "" || source != nil && source.Refusal != nil) {
							t.Errorf("a deletion of what is not ours, or not known: %+v", f)
						}
					}
				}
			}
		}
	}
}
