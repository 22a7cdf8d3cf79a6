package judge

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// pageSource is the source with an annotation; uid tells its incarnations apart.
func pageSource(uid, clusters string) *Source {
	return NewSource(sample.Asking(uid, clusters), render.Wishes{})
}

// pageWork is the Work that a source's template makes, as it is observed.
func pageWork(s *Source, cluster string, changes ...sample.Change) *state.Work {
	return state.NewWork(sample.WorkOf(s.Template.Work(cluster), changes...))
}

// selectingSource is pageSource with a selector.
func selectingSource(selector, clusters string) *Source {
	wishes := sample.Annotations{render.ClusterSelectorAnnotation: selector}
	if clusters != "" {
		wishes[render.ClustersAnnotation] = clusters
	}
	return NewSource(sample.Object(wishes), render.Wishes{})
}

// pageSourceIn is pageSource in a Namespace with defaults.
func pageSourceIn(clusters string, defaults sample.Annotations) *Source {
	return NewSource(sample.Object(sample.Annotations{render.ClustersAnnotation: clusters}), render.ReadWishes(defaults))
}

// preservingSource is pageSource whose objects stay when its Works go.
func preservingSource(clusters string) *Source {
	return NewSource(sample.Object(sample.Annotations{render.ClustersAnnotation: clusters, render.PreserveOnDeletionAnnotation: "true"}), render.Wishes{})
}

func labelledClusters(label string, names ...string) map[string]ClusterFacts {
	clusters := joinedClusters(names...)
	for name, facts := range clusters {
		key, value, _ := strings.Cut(label, "=")
		facts.Labels = labels.Set{key: value}
		clusters[name] = facts
	}
	return clusters
}

// recovered is a cluster that came back when the page was created.
func recovered(name string) map[string]ClusterFacts {
	return map[string]ClusterFacts{name: {State: ClusterJoined, Recovery: Recovery{At: sample.Created, Down: sample.Created.Add(-time.Hour)}}}
}

// joinedClusters are clusters that have nothing special.
func joinedClusters(names ...string) map[string]ClusterFacts {
	clusters := map[string]ClusterFacts{}
	for _, name := range names {
		clusters[name] = ClusterFacts{State: ClusterJoined}
	}
	return clusters
}

// claimedSource is pageSource with the claim of a policy on it.
func claimedSource(clusters string) *Source {
	u := sample.Object(sample.Annotations{render.ClustersAnnotation: clusters})
	u.SetLabels(map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "p"})
	return NewSource(u, render.Wishes{})
}

func TestDecideAndPlan(t *testing.T) {
	asks := pageSource("1", "m1")
	stub := pageSource("1", "m1")
	stub.Asks, stub.Terms, stub.Template = false, render.Terms{}, nil
	claimed := claimedSource("m1")
	notAsking := sample.Object(nil)
	notAsking.SetLabels(map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "p"})
	claimedNotAsking := NewSource(notAsking, render.Wishes{})
	joined := joinedClusters("m1", "m2")
	unbound := map[string]ClusterFacts{"m1": {State: ClusterJoined, Unbound: true}}
	doubled := map[string]ClusterFacts{"m1": {State: ClusterJoined, Doubled: true}}
	type result struct {
		Decisions map[string]Decision
		Refusals  []Reason
		Unproven  bool
		Plan      []OperationKind
		// NeedsApproval of the deletions
		NeedsApproval bool
		Unread        bool
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
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Wanted}}},
		"Edited": {"an edited Work is repaired",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Edited)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"Recreated": {"a source with another UID is written anew",
			Facts{Source: pageSource("2", "m1"), Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"Remarked": {"a Work that says to be of another incarnation is put right",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Remarked)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"Unfinalized": {"a Work without the finalizer would leave its object behind",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Unfinalized)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"Namesake": {"a Work of a source whose Work has the same name is not touched",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.OfNamesake)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"NamesakeUnwanted": {"nor deleted when the other goes",
			Facts{Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.OfNamesake)}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"NamesakeClaimed": {"nor released with the other",
			Facts{Source: claimed, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.OfNamesake)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{ClaimedByPolicy}}},
		"NamesakeRecovered": {"nor woken for the other",
			Facts{Source: asks, Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.OfNamesake, sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"NamesakeOverwritten": {"nor our name taken off it, whatever it carries",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.OfNamesake, sample.Overwritten)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"NamesakeHandedOver": {"nor taken back from the source that it is of now",
			Facts{Source: asks, Clusters: unbound, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.SaysNamesake, sample.HandedOver, sample.Bound)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"Unlabelled": {"a Work of ours whose labels were taken away is repaired",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Relabelled)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"WorkTerminating": {"a Work that is going is waited for",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Terminating, sample.Edited)}},
			result{Decisions: map[string]Decision{"m1": Wanted}}},
		"NoSuchCluster": {"a warning, and no Work",
			Facts{Source: asks},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{UnknownCluster}}},
		"ClusterGone": {"a cluster that is missing loses nothing, even by a live read",
			Facts{Source: asks, Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{UnknownCluster}}},
		"ClusterTerminating": {"nothing is recreated in a cluster that leaves",
			Facts{Source: asks, Clusters: map[string]ClusterFacts{"m1": {State: ClusterTerminating}}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"Foreign": {"a Work of somebody else is not touched",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.BindingLabel)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"ForeignUnwanted": {"and not deleted, whatever a live read says",
			Facts{Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.BindingLabel)}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"AbsentInCache": {"the cache proves nothing",
			Facts{Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Unproven: true}},
		"AbsentLive": {"a live read does",
			Facts{Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"AbsentLiveUnlabelled": {"a Work without our label is not deleted",
			Facts{Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Relabelled)}},
			result{Decisions: map[string]Decision{"m1": Unwanted}}},
		"NotFindable": {"a label that is for look-up alone keeps no Work that nobody wants",
			Facts{Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Misfiled)}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"NotFindableAndWanted": {"and is put right while somebody does",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Misfiled)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"AbsentLiveTerminating": {"a Work that is going is not deleted again",
			Facts{Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Terminating)}},
			result{Decisions: map[string]Decision{"m1": Unwanted}}},
		"AnnotationRemoved": {"a source that does not ask any more, by a live read",
			Facts{Source: stub, Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"Retargeted": {"creates go before deletes",
			Facts{Source: pageSource("1", "m2"), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted, "m2": Wanted}, Plan: []OperationKind{Create, Delete}}},
		"RetargetedInCache": {"what is wanted need not wait for the proof of what is not",
			Facts{Source: pageSource("1", "m2"), Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown, "m2": Wanted}, Unproven: true, Plan: []OperationKind{Create}}},
		"Preserved": {"a Work says what its source says of its deletion before that comes",
			Facts{Source: preservingSource("m2"), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted, "m2": Wanted}, Plan: []OperationKind{Amend, Create}}},
		"PreservedInCache": {"and need not wait for a proof",
			Facts{Source: preservingSource("m2"), Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown, "m2": Wanted}, Unproven: true, Plan: []OperationKind{Amend, Create}}},
		"PreservedAlready": {"then it is deleted",
			Facts{Source: preservingSource("m2"), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(preservingSource("m1"), "m1"), "m2": pageWork(preservingSource("m2"), "m2")}},
			result{Decisions: map[string]Decision{"m1": Unwanted, "m2": Wanted}, Plan: []OperationKind{Delete}}},
		"PreservedNoMore": {"the other way round, too",
			Facts{Source: pageSource("1", "m2"), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(preservingSource("m1"), "m1"), "m2": pageWork(asks, "m2")}},
			result{Decisions: map[string]Decision{"m1": Unwanted, "m2": Wanted}, Plan: []OperationKind{Amend}}},
		"PreservedAndDeleted": {"of a source that is gone the Work has the last word",
			Facts{Live: true, Works: map[string]*state.Work{"m1": pageWork(preservingSource("m1"), "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"PreservedAndForeign": {"nothing of somebody else is amended",
			Facts{Source: preservingSource("m2"), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.BindingLabel)}},
			result{Decisions: map[string]Decision{"m1": Unknown, "m2": Wanted}, Plan: []OperationKind{Create}}},
		"PreservedByMistake": {"what it says of the deletion may be a mistake",
			Facts{Source: NewSource(sample.Object(sample.Annotations{render.PreserveOnDeletionAnnotation: "ture"}), render.Wishes{}), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{InvalidAnnotation}}},
		"UnderWay": {"a Work that the cache has as it was before our last write is not judged",
			Facts{Source: asks, Live: true, Clusters: map[string]ClusterFacts{"m1": {State: ClusterJoined, WriteUnderWay: true}}, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Edited)}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"UnderWayAndUnwanted": {"nor deleted",
			Facts{Live: true, Clusters: map[string]ClusterFacts{"m1": {State: ClusterJoined, WriteUnderWay: true}}, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"Unread": {"an object of which only the name is known is not written",
			Facts{Source: SourceOf(state.NewObject(sample.Object(nil)), render.ReadWishes(sample.Annotations{render.ClustersAnnotation: "m1"})), Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Edited)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Unread: true}},
		"Claimed": {"a claim may be false: what no binding has taken stays as it is, and is ours",
			Facts{Source: claimed, Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Edited), "m2": pageWork(asks, "m2", sample.Terminating)}},
			result{Decisions: map[string]Decision{"m1": Unknown, "m2": Unknown}, Refusals: []Reason{ClaimedByPolicy}}},
		"ClaimedAndNotAsking": {"also if the object does not ask any more",
			Facts{Source: claimedNotAsking, Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{ClaimedByPolicy}}},
		"Overwritten": {"what carries another object is not ours, whatever its marks say",
			Facts{Source: asks, Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Overwritten)}},
			result{Decisions: map[string]Decision{"m1": Released}, Plan: []OperationKind{Release}}},
		"OverwrittenAndUnwanted": {"and is not deleted",
			Facts{Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Overwritten)}},
			result{Decisions: map[string]Decision{"m1": Released}, Plan: []OperationKind{Release}}},
		"OverwrittenAndGoing": {"nor touched when it is",
			Facts{Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Overwritten, sample.Terminating)}},
			result{Decisions: map[string]Decision{"m1": Released}}},
		"Emptied": {"nor is what carries nothing that can be named",
			Facts{Source: asks, Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Emptied)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"EmptiedAndUnwanted": {"and it is not deleted either",
			Facts{Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Emptied)}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"NameTaken": {"a name that another object has is not needed",
			Facts{Source: asks, Live: true, Clusters: joined, Taken: map[string]bool{"m1": true}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Create}}},
		"ClaimedAndTaken": {"what a policy claims and its binding has taken is released, and nothing is deleted",
			Facts{Source: claimed, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Bound)}},
			result{Decisions: map[string]Decision{"m1": Released}, Refusals: []Reason{ClaimedByPolicy}, Plan: []OperationKind{Release}}},
		"ClaimedAndLong": {"one with a longer name stays until the policy has a Work",
			Facts{Source: claimed, Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Long)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{ClaimedByPolicy}}},
		"ClaimedAndDoubled": {"beside that it goes, and not the object",
			Facts{Source: claimed, Live: true, Clusters: doubled, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Long)}},
			result{Decisions: map[string]Decision{"m1": Unneeded}, Refusals: []Reason{ClaimedByPolicy}, Plan: []OperationKind{Detach}}},
		"ClaimedAndDetached": {"when Karmada has nothing to do any more before it is gone",
			Facts{Source: claimedNotAsking, Live: true, Clusters: doubled, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Long, sample.Unfinalized)}},
			result{Decisions: map[string]Decision{"m1": Unneeded}, Refusals: []Reason{ClaimedByPolicy}, Plan: []OperationKind{Drop}}},
		"GivenBackDetached": {"but if the policy goes first, it is put right",
			Facts{Source: asks, Clusters: doubled, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Long, sample.Unfinalized)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"ClaimedAndReleased": {"and then it is the policy's",
			Facts{Source: claimed, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Released, sample.Bound)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{ClaimedByPolicy}}},
		"GivenBack": {"what a binding holds is not taken back before somebody has looked whether a policy stands behind it",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Released, sample.Bound)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"TakenAndGivenBack": {"the same holds for what a binding has taken that nobody saw come and go",
			Facts{Source: asks, Clusters: unbound, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Bound)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"GivenBackAndOverwritten": {"nor what carries another object",
			Facts{Source: asks, Clusters: unbound, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Released, sample.Bound, sample.Overwritten)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"GivenBackUnbound": {"what a binding without its policy holds is adopted",
			Facts{Source: asks, Clusters: unbound, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Released, sample.Bound)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"GivenBackUntaken": {"and so is what no binding has taken",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Released)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"GivenBackAndQuota": {"unless somebody else holds it as well",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Released, sample.Bound, sample.Quota)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"ReleasedUnwanted": {"what was released is not ours to delete",
			Facts{Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Released)}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"DefinitionDeleted": {"the cache proves nothing of a definition either",
			Facts{Definition: DefinitionDeleted, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Unproven: true, NeedsApproval: true}},
		"DefinitionDeletedLive": {"an object that goes with its definition needs an approval",
			Facts{Definition: DefinitionDeleted, Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}, NeedsApproval: true}},
		"DefinitionMadeAgain": {"and so does one that went with an earlier definition of that name",
			Facts{DefinitionCreated: sample.Created.Add(time.Second), Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}, NeedsApproval: true}},
		"DefinitionOlder": {"but not one whose definition is the one that it was made under",
			Facts{DefinitionCreated: sample.Created, Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"DefinitionMadeAgainAndRetargeted": {"nor the Work of a source that has been made again",
			Facts{DefinitionCreated: sample.Created.Add(time.Second), Live: true, Source: pageSource("2", "m2"), Clusters: joined,
				Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted, "m2": Wanted}, Plan: []OperationKind{Create, Delete}}},
		"NotHeldAnyMore": {"the mark of the breaker goes when the Work is wanted again",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Marked)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"BadAnnotation": {"a value that cannot be parsed changes nothing",
			Facts{Source: pageSource("1", "../m1"), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{InvalidAnnotation}}},
		"NotWatched": {"what is not watched is not judged",
			Facts{Unknown: "its resource has not synced", Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"Glob": {"a glob selects the clusters that there are",
			Facts{Source: pageSource("1", "m*,!m2"), Clusters: joined},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Create}}},
		"Selected": {"a selector chooses by labels, exclusions hold, and clusters that do not match are not asked for",
			Facts{Source: selectingSource("tier=edge", "!m3"), Clusters: labelledClusters("tier=edge", "m1", "m3", "m2"), Live: true},
			result{Decisions: map[string]Decision{"m1": Wanted, "m2": Wanted}, Plan: []OperationKind{Create, Create}}},
		"NotSelectedAnyMore": {"a cluster that has lost the label, by live reads",
			Facts{Source: selectingSource("tier=edge", ""), Clusters: joined, Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"NotSelectedInCache": {"and by the cache",
			Facts{Source: selectingSource("tier=edge", ""), Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Unproven: true}},
		"SelectedClusterGone": {"a cluster that is missing has no labels that could speak against a Work",
			Facts{Source: selectingSource("tier=edge", ""), Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"OptsOut": {"of what its Namespace asks for",
			Facts{Source: pageSourceIn("", sample.Annotations{render.ClustersAnnotation: "m1"}), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"OptsOutOfNothing": {"an empty list may be an empty variable in somebody's template",
			Facts{Source: pageSourceIn("", nil), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{InvalidAnnotation}}},
		"OptsOutUnmirrored": {"and it is told where there is nothing to lose, for something else may have been meant",
			Facts{Source: pageSourceIn("", nil), Live: true, Clusters: joined},
			result{Decisions: map[string]Decision{}, Refusals: []Reason{InvalidAnnotation}}},
		"Forbidden": {"what the configuration does not allow is not written, and what is there stays",
			Facts{Source: pageSource("1", "m*"), Live: true, Clusters: map[string]ClusterFacts{"m1": {State: ClusterJoined}, "m2": {State: ClusterJoined, Forbidden: true}, "m3": {State: ClusterJoined, Forbidden: true}},
				Works: map[string]*state.Work{"m2": pageWork(asks, "m2", sample.Edited)}},
			result{Decisions: map[string]Decision{"m1": Wanted, "m2": Unknown, "m3": Unknown}, Refusals: []Reason{NotAuthorized}, Plan: []OperationKind{Create}}},
		"ForbiddenAndGone": {"but it goes with its source",
			Facts{Live: true, Clusters: map[string]ClusterFacts{"m1": {State: ClusterJoined, Forbidden: true}}, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"Recovered": {"a Work that waits for its cluster is woken when that has come back",
			Facts{Source: asks, Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Wake}}},
		"RecoveredAndEdited": {"a write wakes as well",
			Facts{Source: asks, Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Edited, sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"RecoveredWhileGoing": {"a deletion waits for the cluster, too",
			Facts{Live: true, Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Terminating, sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Wake}}},
		"RecoveredWhileGoingInCache": {"and need not be proved again",
			Facts{Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Terminating, sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Unproven: true, Plan: []OperationKind{Wake}}},
		"RecoveredAndRefused": {"what stays because of a mistake is woken as well",
			Facts{Source: pageSource("1", "../m1"), Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{InvalidAnnotation}, Plan: []OperationKind{Wake}}},
		"RecoveredElsewhere": {"nor what is not of this configuration: another daemon may see to it",
			Facts{Unknown: "its namespace is left out", Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"RecoveredAndForeign": {"but nothing of somebody else",
			Facts{Source: asks, Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.BindingLabel, sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"GlobClusterGone": {"a cluster that a glob still names and that is missing loses nothing",
			Facts{Source: pageSource("1", "m*"), Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{UnknownCluster}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.facts.ID = sample.Page
			verdict := Decide(c.facts)
			got := result{Decisions: map[string]Decision{}, NeedsApproval: verdict.NeedsApproval, Unread: verdict.Unread}
			for cluster, target := range verdict.Targets {
				got.Decisions[cluster] = target.Decision
				got.Unproven = got.Unproven || target.Unproven
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

// TestNotices: what Karmada cannot carry out is written, and told.
func TestNotices(t *testing.T) {
	asks := pageSource("1", "m1,m2")
	clusters := joinedClusters("m1", "m2")
	lacks := maps.Clone(clusters)
	lacks["m2"] = ClusterFacts{State: ClusterJoined, LacksKind: true}
	u := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1,m2"})
	u.Object["data"] = map[string]any{"title": strings.Repeat("x", etcdLimit-workRoom)}
	large := NewSource(u, render.Wishes{})
	cases := map[string]struct {
		reason string
		facts  Facts
		want   []Reason
		writes int
	}{
		"None":             {"where there is nothing to say", Facts{Source: asks, Clusters: clusters}, nil, 2},
		"KindNotServed":    {"a cluster that lacks the kind gets its Work all the same", Facts{Source: asks, Clusters: lacks}, []Reason{KindNotServed}, 2},
		"NamespaceSkipped": {"and so do clusters that lack the Namespace", Facts{Source: asks, Clusters: clusters, NamespaceSkipped: true}, []Reason{NamespaceNotPropagated}, 2},
		"Both":             {"both may be", Facts{Source: asks, Clusters: lacks, NamespaceSkipped: true}, []Reason{KindNotServed, NamespaceNotPropagated}, 2},
		"NearlyFull":       {"of a Work that is there, for others are refused", Facts{Source: large, Clusters: clusters, Works: map[string]*state.Work{"m1": pageWork(large, "m1")}}, []Reason{TooLarge}, 2},
		"NearlyFullNoWork": {"of one that is not nothing is known", Facts{Source: large, Clusters: clusters}, nil, 2},
		"NotWanted":        {"nobody is told of what is not asked for", Facts{Source: pageSource("1", "../"), Clusters: lacks, NamespaceSkipped: true}, nil, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.facts.ID = sample.Page
			v := Decide(tc.facts)
			var got []Reason
			for _, notice := range v.Notices {
				got = append(got, notice.Reason)
			}
			if writes := len(Plan(v, nil)); !slices.Equal(got, tc.want) || writes != tc.writes {
				t.Errorf("%s: %v, and %d writes", tc.reason, got, writes)
			}
		})
	}
}

// TestClaimedWithoutAsking: who goes over to a policy takes the annotation off in the
// same breath.
func TestClaimedWithoutAsking(t *testing.T) {
	u := sample.Object(nil)
	u.SetLabels(map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "x"})
	f := Facts{
		ID: sample.Page, Live: true, Source: NewSource(u, render.Wishes{}),
		Clusters: joinedClusters("m1"), Works: map[string]*state.Work{"m1": pageWork(pageSource("1", "m1"), "m1", sample.Bound)},
	}
	v := Decide(f)
	if plan := Plan(v, f.Works); len(plan) != 1 || plan[0].Kind != Release || len(v.Refusals) > 0 {
		t.Errorf("it comes to %+v and %+v", plan, v.Refusals)
	}
}

// TestPoisonWork: a Work that cannot be read is not touched, whatever becomes of its source.
func TestPoisonWork(t *testing.T) {
	w := &state.Work{Cluster: "m1", Foreign: "the object cannot be read"}
	f := Facts{ID: sample.Page, Live: true, Clusters: joinedClusters("m1"), Works: map[string]*state.Work{"m1": w}}
	for _, f.Source = range []*Source{nil, pageSource("1", "m1"), pageSource("1", "m2")} {
		if plan := Plan(Decide(f), f.Works); len(plan) > 0 && plan[0].Cluster == "m1" {
			t.Errorf("of %+v follows %+v", f.Source, plan)
		}
	}
}

// TestNothingIsDeletedWithoutALiveRead tries every combination of what the facts
// can be.
func TestNothingIsDeletedWithoutALiveRead(t *testing.T) {
	asks := pageSource("1", "m1")
	sources := []*Source{nil, asks, pageSource("2", "m2"), pageSource("1", "m*"), pageSource("1", "")}
	observed := []*state.Work{nil, pageWork(asks, "m1"), pageWork(asks, "m1", sample.Edited), pageWork(asks, "m1", sample.BindingLabel), pageWork(asks, "m1", sample.Terminating)}
	for _, source := range sources {
		for _, w := range observed {
			for _, of := range []ClusterState{ClusterMissing, ClusterJoined, ClusterTerminating} {
				for _, unknown := range []string{"", "not synced"} {
					f := Facts{ID: sample.Page, Unknown: unknown, Source: source, Clusters: map[string]ClusterFacts{"m1": {State: of}}, Works: map[string]*state.Work{}}
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

// FuzzDecide makes up facts, as impossible as they may be: a deletion needs its
// proof, and a write its right.
func FuzzDecide(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add([]byte{0, 0, 1, 1, 1, 0, 1})
	stub := pageSource("1", "m1")
	stub.Asks, stub.Terms, stub.Template = false, render.Terms{}, nil
	sources := []*Source{nil, pageSource("1", "m1"), stub, claimedSource("m1"), pageSource("2", "m*,!m2"), pageSource("1", "")}
	f.Fuzz(func(t *testing.T, choices []byte) {
		facts := madeUp(choices, sources)
		verdict := Decide(facts)
		for _, op := range Plan(verdict, facts.Works) {
			w := facts.Works[op.Cluster]
			switch op.Kind {
			case Delete:
				absent := facts.Source == nil
				retargeted := !absent && facts.Source.Refusal == nil && !facts.Source.Terms.Matches(op.Cluster, facts.Clusters[op.Cluster].Labels)
				if !facts.Live || facts.Unknown != "" || w.Foreign != "" || w.Source != facts.ID || !w.Labelled || !absent && !retargeted {
					t.Errorf("deletes a Work without proof: %+v, Work %+v", facts, w)
				}
				gone := facts.Definition != DefinitionServed || absent && facts.DefinitionCreated.After(sample.Created)
				if gone && !verdict.NeedsApproval {
					t.Errorf("an object that goes with its definition needs no approval: %+v", facts)
				}
			case Create, Update:
				if facts.Unknown != "" || facts.Source == nil || facts.Source.Refusal != nil || !facts.Source.Terms.Matches(op.Cluster, facts.Clusters[op.Cluster].Labels) || facts.Clusters[op.Cluster].State != ClusterJoined {
					t.Errorf("writes a Work that nobody asks for: %+v", facts)
				}
				if op.Kind == Update && (w.Foreign != "" && !(wasOurs(w, facts.ID) && (!w.Bound() || facts.Clusters[op.Cluster].Unbound)) || w.Carries() != facts.ID) {
					t.Errorf("writes over a Work of somebody else: %+v", w)
				}
			case Release:
				isClaimed := w.Bound() && facts.Source != nil && facts.Source.Refusal != nil && facts.Source.Refusal.Reason == ClaimedByPolicy
				if w.Source != facts.ID || !isClaimed && w.Carries() == facts.ID {
					t.Errorf("releases a Work that nobody has taken: %+v, Work %+v", facts, w)
				}
			case Amend:
				if w.Source != facts.ID || w.Foreign != "" || facts.Source == nil || w.Preserves() == facts.Source.Options.PreserveOnDeletion {
					t.Errorf("amends for nothing: %+v, Work %+v", facts, w)
				}
			case Detach, Drop:
				if w.Source != facts.ID || w.Foreign != "" || !w.IsLong() || !facts.Clusters[op.Cluster].Doubled || facts.Source == nil || facts.Source.Refusal == nil || facts.Source.Refusal.Reason != ClaimedByPolicy {
					t.Errorf("drops a Work beside which there is none: %+v, Work %+v", facts, w)
				}
				if op.Kind == Drop && slices.Contains(w.Finalizers, render.ExecutionFinalizer) {
					t.Errorf("drops a Work that its object goes with: %+v", w)
				}
			default:
				t.Errorf("plans %q", op.Kind)
			}
		}
	})
}

// madeUp makes facts of a list of choices; what the list does not say is the
// first choice. The Works are those of the second source.
func madeUp(choices []byte, sources []*Source) Facts {
	pick := func(n int) int {
		if len(choices) == 0 {
			return 0
		}
		c := int(choices[0])
		choices = choices[1:]
		return c % n
	}
	facts := Facts{
		ID:                sample.Page,
		Unknown:           []string{"", "its resource has not synced"}[pick(2)],
		Live:              pick(2) == 1,
		Source:            sources[pick(len(sources))],
		Definition:        DefinitionState(pick(3)),
		DefinitionCreated: sample.Created.Add(time.Duration(pick(3)-1) * time.Hour),
		Clusters:          map[string]ClusterFacts{},
		Works:             map[string]*state.Work{},
	}
	changes := []func(*unstructured.Unstructured){sample.Edited, sample.Terminating, sample.Relabelled, sample.Misfiled, sample.BindingLabel, sample.Bound, sample.Quota, sample.Released, sample.Marked, sample.Overwritten, sample.Emptied, sample.Long, sample.Unfinalized}
	for _, cluster := range []string{"m1", "m2"} {
		facts.Clusters[cluster] = ClusterFacts{State: ClusterState(pick(3)), Unbound: pick(2) == 1, Doubled: pick(2) == 1}
		if pick(2) == 0 {
			continue
		}
		var applied []func(*unstructured.Unstructured)
		for range pick(4) {
			applied = append(applied, changes[pick(len(changes))])
		}
		facts.Works[cluster] = pageWork(sources[1], cluster, applied...)
	}
	return facts
}
