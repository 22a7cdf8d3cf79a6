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

// pageSource returns the source with an annotation; uid tells its incarnations apart.
func pageSource(uid, clusters string) *Source {
	return NewSource(sample.Asking(uid, clusters), render.Wishes{})
}

// pageWork returns the Work that a source's template makes, as observed.
func pageWork(s *Source, cluster string, changes ...sample.Change) *state.Work {
	return state.NewWork(sample.WorkOf(s.Template.Work(cluster), changes...))
}

// selectingSource returns the page with a selector.
func selectingSource(selector, clusters string) *Source {
	wishes := sample.Annotations{render.ClusterSelectorAnnotation: selector}
	if clusters != "" {
		wishes[render.ClustersAnnotation] = clusters
	}
	return NewSource(sample.Object(wishes), render.Wishes{})
}

// pageSourceIn returns the page in a Namespace with defaults.
func pageSourceIn(clusters string, defaults sample.Annotations) *Source {
	return NewSource(sample.Object(sample.Annotations{render.ClustersAnnotation: clusters}), render.ReadWishes(defaults))
}

// later returns a source that was recreated.
func later(s *Source) *Source {
	s.UID = "later-uid"
	return s
}

// preservingSource returns the page with preserve-on-deletion.
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

// recovered returns a cluster that came back when the page was created.
func recovered(name string) map[string]ClusterFacts {
	return map[string]ClusterFacts{name: {State: ClusterJoined, Recovery: Recovery{At: sample.Created, Down: sample.Created.Add(-time.Hour)}}}
}

// joinedClusters returns clusters with nothing special about them.
func joinedClusters(names ...string) map[string]ClusterFacts {
	clusters := map[string]ClusterFacts{}
	for _, name := range names {
		clusters[name] = ClusterFacts{State: ClusterJoined}
	}
	return clusters
}

// claimedSource returns the page, claimed by a policy.
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
	inWaves := NewSource(sample.Object(sample.Annotations{render.ClustersAnnotation: "m1,m2", render.WavesAnnotation: "m1;*"}), render.Wishes{})
	laterUnbound := map[string]ClusterFacts{"m1": {State: ClusterJoined}, "m2": {State: ClusterJoined, Unbound: true}}
	type result struct {
		Decisions map[string]Decision
		Refusals  []Reason
		Unproven  bool
		Plan      []OperationKind
		// NeedsApproval is about the deletions.
		NeedsApproval bool
		Unread        bool
	}
	cases := map[string]struct {
		reason string
		facts  Facts
		want   result
	}{
		"New": {"a wanted cluster without a Work gets one",
			Facts{Source: asks, Clusters: joined},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Create}}},
		"InSync": {"a Work that is as wanted is left alone",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Wanted}}},
		"Edited": {"an edited Work is repaired",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Edited)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"Recreated": {"the Work of a recreated source is updated",
			Facts{Source: pageSource("2", "m1"), Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"Remarked": {"a Work that names another incarnation is repaired",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Remarked)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"Unfinalized": {"a Work without the finalizer would leave its object behind",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Unfinalized)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"Namesake": {"the Work of another source, which has the same name, is not touched",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.OfNamesake)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"NamesakeUnwanted": {"nor deleted when this source is deleted",
			Facts{Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.OfNamesake)}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"NamesakeClaimed": {"nor released when this source is claimed",
			Facts{Source: claimed, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.OfNamesake)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{ClaimedByPolicy}}},
		"NamesakeRecovered": {"nor woken for this source",
			Facts{Source: asks, Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.OfNamesake, sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"NamesakeOverwritten": {"and our marks are not removed from it, whatever it carries",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.OfNamesake, sample.Overwritten)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"NamesakeHandedOver": {"and it is not taken back from the source that owns it now",
			Facts{Source: asks, Clusters: unbound, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.SaysNamesake, sample.HandedOver, sample.Bound)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"Unlabelled": {"our Work is repaired if its labels were removed",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Relabelled)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"WorkTerminating": {"a Work that is being deleted is waited for",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Terminating, sample.Edited)}},
			result{Decisions: map[string]Decision{"m1": Wanted}}},
		"NoSuchCluster": {"a warning, and no Work",
			Facts{Source: asks},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{UnknownCluster}}},
		"ClusterGone": {"a missing cluster loses nothing, even by a live read",
			Facts{Source: asks, Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{UnknownCluster}}},
		"ClusterTerminating": {"nothing is recreated in a cluster that is leaving",
			Facts{Source: asks, Clusters: map[string]ClusterFacts{"m1": {State: ClusterTerminating}}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"Foreign": {"a Work of another owner is not touched",
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
		"AbsentLiveUnlabelled": {"a Work without our label is never deleted",
			Facts{Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Relabelled)}},
			result{Decisions: map[string]Decision{"m1": Unwanted}}},
		"NotFindable": {"a label for look-up only does not keep an unwanted Work",
			Facts{Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Misfiled)}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"NotFindableAndWanted": {"and is repaired while the Work is wanted",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Misfiled)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"AbsentLiveTerminating": {"a Work that is being deleted is not deleted again",
			Facts{Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Terminating)}},
			result{Decisions: map[string]Decision{"m1": Unwanted}}},
		"AnnotationRemoved": {"a source that no longer asks, by a live read",
			Facts{Source: stub, Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"Retargeted": {"creates come before deletes",
			Facts{Source: pageSource("1", "m2"), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted, "m2": Wanted}, Plan: []OperationKind{Create, Delete}}},
		"RetargetedInCache": {"creating a wanted Work need not wait for the proof of a deletion",
			Facts{Source: pageSource("1", "m2"), Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown, "m2": Wanted}, Unproven: true, Plan: []OperationKind{Create}}},
		"Preserved": {"a Work gets its source's preserve-on-deletion before it is deleted",
			Facts{Source: preservingSource("m2"), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted, "m2": Wanted}, Plan: []OperationKind{Amend, Create}}},
		"PreservedInCache": {"which need not wait for a proof",
			Facts{Source: preservingSource("m2"), Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown, "m2": Wanted}, Unproven: true, Plan: []OperationKind{Amend, Create}}},
		"PreservedAlready": {"then it is deleted",
			Facts{Source: preservingSource("m2"), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(preservingSource("m1"), "m1"), "m2": pageWork(preservingSource("m2"), "m2")}},
			result{Decisions: map[string]Decision{"m1": Unwanted, "m2": Wanted}, Plan: []OperationKind{Delete}}},
		"PreservedNoMore": {"but never the other way round, which could delete what must stay",
			Facts{Source: pageSource("1", "m2"), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(preservingSource("m1"), "m1"), "m2": pageWork(asks, "m2")}},
			result{Decisions: map[string]Decision{"m1": Unwanted, "m2": Wanted}, Plan: []OperationKind{Delete}}},
		"PreservedByALaterObject": {"and a recreated object does not speak for the Works of the earlier one",
			Facts{Source: later(preservingSource("m2")), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted, "m2": Wanted}, Plan: []OperationKind{Create, Delete}}},
		"PreservedAndDeleted": {"if the source is deleted, the Work has the last word",
			Facts{Live: true, Works: map[string]*state.Work{"m1": pageWork(preservingSource("m1"), "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"PreservedAndForeign": {"a Work of another owner is not amended",
			Facts{Source: preservingSource("m2"), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.BindingLabel)}},
			result{Decisions: map[string]Decision{"m1": Unknown, "m2": Wanted}, Plan: []OperationKind{Create}}},
		"PreservedByMistake": {"what it says about the deletion may be a mistake",
			Facts{Source: NewSource(sample.Object(sample.Annotations{render.PreserveOnDeletionAnnotation: "ture"}), render.Wishes{}), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{InvalidAnnotation}}},
		"UnderWay": {"a cached Work that predates our last write is not judged",
			Facts{Source: asks, Live: true, Clusters: map[string]ClusterFacts{"m1": {State: ClusterJoined, WriteUnderWay: true}}, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Edited)}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"UnderWayAndUnwanted": {"nor deleted",
			Facts{Live: true, Clusters: map[string]ClusterFacts{"m1": {State: ClusterJoined, WriteUnderWay: true}}, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"Unread": {"an object without known content is not written",
			Facts{Source: SourceOf(state.NewObject(sample.Object(nil)), render.ReadWishes(sample.Annotations{render.ClustersAnnotation: "m1"})), Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Edited)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Unread: true}},
		"Claimed": {"a claim may be false: a Work that no binding took over stays as it is, and ours",
			Facts{Source: claimed, Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Edited), "m2": pageWork(asks, "m2", sample.Terminating)}},
			result{Decisions: map[string]Decision{"m1": Unknown, "m2": Unknown}, Refusals: []Reason{ClaimedByPolicy}}},
		"ClaimedAndNotAsking": {"also if the object no longer asks",
			Facts{Source: claimedNotAsking, Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{ClaimedByPolicy}}},
		"Overwritten": {"a Work that carries another object is not ours, whatever its marks say",
			Facts{Source: asks, Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Overwritten)}},
			result{Decisions: map[string]Decision{"m1": Released}, Plan: []OperationKind{Release}}},
		"OverwrittenAndUnwanted": {"and is not deleted",
			Facts{Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Overwritten)}},
			result{Decisions: map[string]Decision{"m1": Released}, Plan: []OperationKind{Release}}},
		"OverwrittenAndGoing": {"nor touched while it is being deleted",
			Facts{Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Overwritten, sample.Terminating)}},
			result{Decisions: map[string]Decision{"m1": Released}}},
		"Stalled": {"a deletion that Karmada does not complete is completed, whatever the source says",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Terminating, sample.Preserving)}, Stalls: map[string]time.Duration{"m1": 0}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Detach}}},
		"StalledWithoutSource": {"also if it is gone",
			Facts{Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Terminating, sample.Preserving)}, Stalls: map[string]time.Duration{"m1": 0}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Unproven: true, Plan: []OperationKind{Detach}}},
		"NotStalledYet": {"but not before its time is over",
			Facts{Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Terminating, sample.Preserving)}, Stalls: map[string]time.Duration{"m1": time.Second}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Unproven: true}},
		"StalledElsewhere": {"nor if it is another owner's",
			Facts{Source: asks, Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Overwritten, sample.Terminating, sample.Preserving)}, Stalls: map[string]time.Duration{"m1": 0}},
			result{Decisions: map[string]Decision{"m1": Released}}},
		"StalledDeleting": {"nor if its object is deleted with it",
			Facts{Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Terminating)}, Stalls: map[string]time.Duration{"m1": 0}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Unproven: true}},
		"StalledAndWritten": {"nor a second time",
			Facts{Clusters: map[string]ClusterFacts{"m1": {State: ClusterJoined, WriteUnderWay: true}}, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Terminating, sample.Preserving)}, Stalls: map[string]time.Duration{"m1": 0}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"StalledUnknown": {"also if the kind is not watched: nothing of it depends on the source, as after a purge",
			Facts{Unknown: "it is not watched", Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Terminating, sample.Preserving)}, Stalls: map[string]time.Duration{"m1": 0}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Plan: []OperationKind{Detach}}},
		"Emptied": {"nor if it carries nothing that can be identified",
			Facts{Source: asks, Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Emptied)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"EmptiedAndUnwanted": {"such a Work is not deleted either",
			Facts{Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Emptied)}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"NameTaken": {"a name that another object has does not prevent a Work",
			Facts{Source: asks, Live: true, Clusters: joined, Taken: map[string]bool{"m1": true}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Create}}},
		"ClaimedAndTaken": {"if a policy claims the source and its binding took over the Work, the Work is released, not deleted",
			Facts{Source: claimed, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Bound)}},
			result{Decisions: map[string]Decision{"m1": Released}, Refusals: []Reason{ClaimedByPolicy}, Plan: []OperationKind{Release}}},
		"ClaimedAndLong": {"a Work with the longer name stays until the policy has its own",
			Facts{Source: claimed, Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Long)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{ClaimedByPolicy}}},
		"ClaimedAndDoubled": {"beside that Work, ours is deleted, and the object stays",
			Facts{Source: claimed, Live: true, Clusters: doubled, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Long)}},
			result{Decisions: map[string]Decision{"m1": Unneeded}, Refusals: []Reason{ClaimedByPolicy}, Plan: []OperationKind{Detach}}},
		"ClaimedAndDetached": {"it is deleted once Karmada's finalizer is off",
			Facts{Source: claimedNotAsking, Live: true, Clusters: doubled, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Long, sample.Unfinalized)}},
			result{Decisions: map[string]Decision{"m1": Unneeded}, Refusals: []Reason{ClaimedByPolicy}, Plan: []OperationKind{Drop}}},
		"GivenBackDetached": {"but if the policy is deleted first, it is repaired",
			Facts{Source: asks, Clusters: doubled, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Long, sample.Unfinalized)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"ClaimedAndReleased": {"then it belongs to the policy",
			Facts{Source: claimed, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Released, sample.Bound)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{ClaimedByPolicy}}},
		"GivenBack": {"a Work that a binding holds is not taken back before a live read of the binding",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Released, sample.Bound)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"TakenAndGivenBack": {"the same goes for a Work whose claim and release no one saw",
			Facts{Source: asks, Clusters: unbound, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Bound)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"GivenBackAndOverwritten": {"but not if it carries another object",
			Facts{Source: asks, Clusters: unbound, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Released, sample.Bound, sample.Overwritten)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"GivenBackUnbound": {"a Work held by a leftover binding is taken back",
			Facts{Source: asks, Clusters: unbound, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Released, sample.Bound)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"GivenBackUntaken": {"and so is one that no binding took over",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Released)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"GivenBackAndQuota": {"unless another controller holds it too",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Released, sample.Bound, sample.Quota)}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"GivenBackInWaves": {"before its turn, it is taken back without the content",
			Facts{Source: inWaves, Clusters: laterUnbound, Works: map[string]*state.Work{"m2": pageWork(asks, "m2", sample.Released, sample.Bound)}},
			result{Decisions: map[string]Decision{"m1": Wanted, "m2": Unknown}, Plan: []OperationKind{Create, Adjust}}},
		"GivenBackInWavesAndQuota": {"but not if another controller holds it too",
			Facts{Source: inWaves, Clusters: laterUnbound, Works: map[string]*state.Work{"m2": pageWork(asks, "m2", sample.Released, sample.Bound, sample.Quota)}},
			result{Decisions: map[string]Decision{"m1": Wanted, "m2": Unknown}, Refusals: []Reason{WorkConflict}, Plan: []OperationKind{Create}}},
		"GivenBackInWavesUnread": {"nor before a live read of the binding",
			Facts{Source: inWaves, Clusters: joined, Works: map[string]*state.Work{"m2": pageWork(asks, "m2", sample.Released, sample.Bound)}},
			result{Decisions: map[string]Decision{"m1": Wanted, "m2": Unknown}, Refusals: []Reason{WorkConflict}, Plan: []OperationKind{Create}}},
		"ReleasedUnwanted": {"a released Work is not ours to delete",
			Facts{Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Released)}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"DefinitionDeleted": {"the cache proves nothing about a definition either",
			Facts{Definition: DefinitionDeleted, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Unproven: true, NeedsApproval: true}},
		"DefinitionDeletedLive": {"an object deleted with its definition needs an approval",
			Facts{Definition: DefinitionDeleted, Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}, NeedsApproval: true}},
		"DefinitionMadeAgain": {"and so does one deleted with an earlier definition of that name",
			Facts{DefinitionCreated: sample.Created.Add(time.Second), Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}, NeedsApproval: true}},
		"DefinitionOlder": {"but not one created under the current definition",
			Facts{DefinitionCreated: sample.Created, Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"DefinitionMadeAgainAndRetargeted": {"nor the Work of a source that was recreated",
			Facts{DefinitionCreated: sample.Created.Add(time.Second), Live: true, Source: pageSource("2", "m2"), Clusters: joined,
				Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted, "m2": Wanted}, Plan: []OperationKind{Create, Delete}}},
		"NotHeldAnyMore": {"the breaker's mark is removed when the Work is wanted again",
			Facts{Source: asks, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Marked)}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"BadAnnotation": {"a value that cannot be parsed changes nothing",
			Facts{Source: pageSource("1", "../m1"), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{InvalidAnnotation}}},
		"NotWatched": {"what is not watched is not judged",
			Facts{Unknown: "its resource has not synced", Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"Glob": {"a glob selects existing clusters",
			Facts{Source: pageSource("1", "m*,!m2"), Clusters: joined},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Create}}},
		"Selected": {"a selector chooses by labels, minus the exclusions",
			Facts{Source: selectingSource("tier=edge", "!m3"), Clusters: labelledClusters("tier=edge", "m1", "m3", "m2"), Live: true},
			result{Decisions: map[string]Decision{"m1": Wanted, "m2": Wanted}, Plan: []OperationKind{Create, Create}}},
		"NotSelectedAnyMore": {"a cluster that has lost the label, by live reads",
			Facts{Source: selectingSource("tier=edge", ""), Clusters: joined, Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}, Refusals: []Reason{UnknownCluster}}},
		"NotSelectedInCache": {"and by the cache",
			Facts{Source: selectingSource("tier=edge", ""), Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Unproven: true, Refusals: []Reason{UnknownCluster}}},
		"SelectedClusterGone": {"a missing cluster has no labels that could speak against a Work",
			Facts{Source: selectingSource("tier=edge", ""), Live: true, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{UnknownCluster}}},
		"OptsOut": {"of what its Namespace asks for",
			Facts{Source: pageSourceIn("", sample.Annotations{render.ClustersAnnotation: "m1"}), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"OptsOutOfNothing": {"an empty list may be an empty variable in a template",
			Facts{Source: pageSourceIn("", nil), Live: true, Clusters: joined, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{InvalidAnnotation}}},
		"OptsOutUnmirrored": {"and it is reported even without Works, since it may be a mistake",
			Facts{Source: pageSourceIn("", nil), Live: true, Clusters: joined},
			result{Decisions: map[string]Decision{}, Refusals: []Reason{InvalidAnnotation}}},
		"Forbidden": {"what the configuration does not allow is not written, and existing Works stay",
			Facts{Source: pageSource("1", "m*"), Live: true, Clusters: map[string]ClusterFacts{"m1": {State: ClusterJoined}, "m2": {State: ClusterJoined, Forbidden: true}, "m3": {State: ClusterJoined, Forbidden: true}},
				Works: map[string]*state.Work{"m2": pageWork(asks, "m2", sample.Edited)}},
			result{Decisions: map[string]Decision{"m1": Wanted, "m2": Unknown, "m3": Unknown}, Refusals: []Reason{NotAuthorized}, Plan: []OperationKind{Create}}},
		"ForbiddenAndGone": {"but they are deleted with their source",
			Facts{Live: true, Clusters: map[string]ClusterFacts{"m1": {State: ClusterJoined, Forbidden: true}}, Works: map[string]*state.Work{"m1": pageWork(asks, "m1")}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Delete}}},
		"Recovered": {"a Work that waits for its cluster is woken when the cluster is back",
			Facts{Source: asks, Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Wake}}},
		"RecoveredAndEdited": {"a write wakes as well",
			Facts{Source: asks, Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Edited, sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Wanted}, Plan: []OperationKind{Update}}},
		"RecoveredWhileGoing": {"a deletion waits for the cluster too",
			Facts{Live: true, Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Terminating, sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Unwanted}, Plan: []OperationKind{Wake}}},
		"RecoveredWhileGoingInCache": {"and need not be proved again",
			Facts{Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.Terminating, sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Unproven: true, Plan: []OperationKind{Wake}}},
		"RecoveredAndRefused": {"what stays because of a mistake is woken as well",
			Facts{Source: pageSource("1", "../m1"), Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{InvalidAnnotation}, Plan: []OperationKind{Wake}}},
		"RecoveredElsewhere": {"but nothing outside this configuration: another daemon may look after it",
			Facts{Unknown: "its namespace is excluded", Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Unknown}}},
		"RecoveredAndForeign": {"and nothing of another owner",
			Facts{Source: asks, Clusters: recovered("m1"), Works: map[string]*state.Work{"m1": pageWork(asks, "m1", sample.BindingLabel, sample.WrittenAt(sample.Created.Add(-time.Minute)))}},
			result{Decisions: map[string]Decision{"m1": Unknown}, Refusals: []Reason{WorkConflict}}},
		"GlobClusterGone": {"a missing cluster that a glob still matches loses nothing",
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
			for _, op := range verdict.Plan() {
				got.Plan = append(got.Plan, op.Kind)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestNotices: what Karmada cannot apply is written all the same, and reported.
func TestNotices(t *testing.T) {
	asks := pageSource("1", "m1,m2")
	clusters := joinedClusters("m1", "m2")
	lacks := maps.Clone(clusters)
	lacks["m2"] = ClusterFacts{State: ClusterJoined, Kinds: "\nSecret v1\n"}
	older := maps.Clone(clusters)
	older["m1"], older["m2"] = ClusterFacts{State: ClusterJoined, Kinds: "\nConfigMap v1alpha1 v1\n"}, ClusterFacts{State: ClusterJoined, Kinds: "\nConfigMap v1alpha1 v1beta1\n"}
	u := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1,m2"})
	u.Object["data"] = map[string]any{"title": strings.Repeat("x", EtcdLimit-workRoom)}
	large := NewSource(u, render.Wishes{})
	needing := func(d Dependency) Facts {
		d.ID = render.Identity{Kind: "Secret", Namespace: sample.Page.Namespace, Name: "pull"}
		return Facts{Source: asks, Clusters: clusters, Dependencies: []Dependency{d}}
	}
	m1 := []string{"m1"}
	unwatched := Dependency{Clusters: m1, Unwatched: true}
	after := func(f Facts, since time.Duration, changes ...sample.Change) Facts {
		w := pageWork(asks, "m1", changes...)
		f.Works, f.Now = map[string]*state.Work{"m1": w}, w.Written().Add(since)
		return f
	}
	elsewhere := render.ReadWishes(map[string]string{render.ClustersAnnotation: "m1"})
	excluded := render.ReadWishes(map[string]string{render.ClustersAnnotation: "*,!m2"})
	cases := map[string]struct {
		reason string
		facts  Facts
		want   []Reason
		writes int
		says   string // of the first notice
	}{
		"None":          {"there is nothing to say", Facts{Source: asks, Clusters: clusters}, nil, 2, ""},
		"KindNotServed": {"a cluster that lacks the kind gets its Work all the same", Facts{Source: asks, Clusters: lacks}, []Reason{KindNotServed}, 2, ""},
		"VersionNotServed": {"so does one that has the kind in other versions", Facts{Source: asks, Clusters: older}, []Reason{KindNotServed}, 2,
			`cluster "m2" does not serve version v1 of ConfigMap, only v1alpha1, v1beta1: Karmada retries until it does`},
		"NamespaceSkipped": {"and so do clusters that lack the Namespace", Facts{Source: asks, Clusters: clusters, NamespaceSkipped: true}, []Reason{NamespaceNotPropagated}, 2, ""},
		"Both":             {"both can be true", Facts{Source: asks, Clusters: lacks, NamespaceSkipped: true}, []Reason{KindNotServed, NamespaceNotPropagated}, 2, ""},
		"NearlyFull":       {"an existing Work is nearly full; a new one would be refused", Facts{Source: large, Clusters: clusters, Works: map[string]*state.Work{"m1": pageWork(large, "m1")}}, []Reason{TooLarge}, 1, ""},
		"NearlyFullNoWork": {"nothing is known about a Work that does not exist", Facts{Source: large, Clusters: clusters}, nil, 2, ""},
		"NotWanted":        {"what is not asked for is not reported", Facts{Source: pageSource("1", "../"), Clusters: lacks, NamespaceSkipped: true}, nil, 0, ""},
		"NotConfigured": {"no daemon watches what the Pods need", needing(unwatched), []Reason{DependencyNotMirrored}, 2,
			`its Pods need Secret "pull", but Secrets are not among the resources of the configuration: add them there, or create it in the members yourself`},
		"MadeInMember": {"the member has it: the workload is healthy", after(needing(unwatched), time.Hour, sample.Applied("True")), nil, 1, ""},
		"Starting":     {"it may become healthy yet", after(needing(unwatched), 30*time.Second), nil, 1, ""},
		"DoesNotStart": {"it does not", after(needing(unwatched), time.Hour, sample.Applied("False")), []Reason{DependencyNotMirrored}, 1, ""},
		"OtherNamespaces": {"it watches it in other Namespaces", needing(Dependency{Clusters: m1, Unwatched: true, OtherNamespaces: true}), []Reason{DependencyNotMirrored}, 2,
			`its Pods need Secret "pull", but the configuration does not include namespace "shop" for Secrets: add it there, or create the Secret in the members yourself`},
		"Absent":        {"the members may have what is not here", needing(Dependency{Clusters: m1, Absent: true}), nil, 2, ""},
		"AbsentButFine": {"as it seems", after(needing(Dependency{Clusters: m1, Absent: true}), time.Hour, sample.Applied("True")), nil, 1, ""},
		"AbsentAndAmiss": {"they do not start without it", after(needing(Dependency{Clusters: m1, Absent: true}), time.Hour, sample.Applied("False")), []Reason{DependencyNotMirrored}, 1,
			`its Pods need Secret "pull", which does not exist on the Karmada API server: create it and mirror it to m1, unless it is there`},
		"AbsentAndSuspended": {"nothing is applied there", after(needing(Dependency{Clusters: m1, Absent: true}), time.Hour, sample.Applied("False"), func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, true, "spec", "suspendDispatching")
		}), nil, 2, ""},
		"NotMirrored": {"it is nowhere, and annotated like the workload it is with it", needing(Dependency{Clusters: []string{"m1", "m2"}}), []Reason{DependencyNotMirrored}, 2,
			`its Pods need Secret "pull", which is not mirrored to m1, m2: they wait there until it is. Run: kubectl -n shop annotate --overwrite secret pull karmada.target/clusters='m1,m2'`},
		"MirroredElsewhere": {"it stays where it is", needing(Dependency{Clusters: []string{"m2"}, Wishes: elsewhere}), []Reason{DependencyNotMirrored}, 2,
			`not mirrored to m2: they wait there until it is. Run: kubectl -n shop annotate --overwrite secret pull karmada.target/clusters='m1,m2'`},
		"Excluded": {"no command can add a cluster that is excluded", needing(Dependency{Clusters: []string{"m2"}, Wishes: excluded}), []Reason{DependencyNotMirrored}, 2, "remove the exclusion"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.facts.ID = sample.Page
			v := Decide(tc.facts)
			var got []Reason
			for _, notice := range v.Notices {
				got = append(got, notice.Reason)
			}
			if writes := len(v.Plan()); !slices.Equal(got, tc.want) || writes != tc.writes {
				t.Errorf("%s: %v, and %d writes", tc.reason, got, writes)
			}
			if tc.says != "" && !strings.Contains(v.Notices[0].Message, tc.says) {
				t.Errorf("%s: %q does not say %q", tc.reason, v.Notices[0].Message, tc.says)
			}
		})
	}
}

// TestClaimedWithoutAsking: a user who moves an object to a policy removes the annotation at
// the same time.
func TestClaimedWithoutAsking(t *testing.T) {
	u := sample.Object(nil)
	u.SetLabels(map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "x"})
	f := Facts{
		ID: sample.Page, Live: true, Source: NewSource(u, render.Wishes{}),
		Clusters: joinedClusters("m1"), Works: map[string]*state.Work{"m1": pageWork(pageSource("1", "m1"), "m1", sample.Bound)},
	}
	v := Decide(f)
	if plan := v.Plan(); len(plan) != 1 || plan[0].Kind != Release || len(v.Refusals) > 0 {
		t.Errorf("got %+v and %+v", plan, v.Refusals)
	}
}

// TestClaimAdvice: explain says once what to do about a claim, and so does the Event, which has no
// hint beside it.
func TestClaimAdvice(t *testing.T) {
	u := sample.Asking("1", "m1")
	u.SetLabels(map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "x"})
	u.SetAnnotations(map[string]string{
		render.ClustersAnnotation: "m1", policyv1alpha1.PropagationPolicyNamespaceAnnotation: "shop", policyv1alpha1.PropagationPolicyNameAnnotation: "pages",
	})
	f := Facts{ID: sample.Page, Live: true, Source: NewSource(u, render.Wishes{}), Clusters: joinedClusters("m1")}
	const message, advice = `PropagationPolicy "shop/pages" propagates this object`, "remove the annotation, or move the object while its policy exists: karmada-mirror adopt"
	if got := f.Source.Refusal.Event(); got != message+": "+advice {
		t.Errorf("the Event says %q", got)
	}
	steps := Explain(f).Steps
	want := Step{What: "ClaimedByPolicy: " + message, Hint: advice}
	if diff := cmp.Diff(want, steps[len(steps)-1]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPoisonWork: a Work that cannot be read is not touched, whatever happens to its source.
func TestPoisonWork(t *testing.T) {
	w := &state.Work{Cluster: "m1", Foreign: "the object cannot be read"}
	f := Facts{ID: sample.Page, Live: true, Clusters: joinedClusters("m1"), Works: map[string]*state.Work{"m1": w}}
	for _, f.Source = range []*Source{nil, pageSource("1", "m1"), pageSource("1", "m2")} {
		if plan := Decide(f).Plan(); len(plan) > 0 && plan[0].Cluster == "m1" {
			t.Errorf("%+v leads to %+v", f.Source, plan)
		}
	}
}

// TestNothingIsDeletedWithoutALiveRead tries every combination of facts.
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
					for _, op := range Decide(f).Plan() {
						if op.Kind == Delete {
							t.Errorf("a deletion based on the cache alone: %+v", f)
						}
					}
					f.Live = true
					for _, op := range Decide(f).Plan() {
						if op.Kind == Delete && (unknown != "" || w.Foreign != "" || source != nil && source.Refusal != nil) {
							t.Errorf("a deletion of a Work that is not ours, or not known: %+v", f)
						}
					}
				}
			}
		}
	}
}

// FuzzDecide makes up facts, even impossible ones: a deletion needs a proof, and a
// write needs a right.
func FuzzDecide(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add([]byte{0, 0, 1, 1, 1, 0, 1})
	stub := pageSource("1", "m1")
	stub.Asks, stub.Terms, stub.Template = false, render.Terms{}, nil
	sources := []*Source{nil, pageSource("1", "m1"), stub, claimedSource("m1"), pageSource("2", "m*,!m2"), pageSource("1", "")}
	f.Fuzz(func(t *testing.T, choices []byte) {
		facts := madeUp(choices, sources)
		verdict := Decide(facts)
		for _, op := range verdict.Plan() {
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
					t.Errorf("an object deleted with its definition needs no approval: %+v", facts)
				}
			case Create, Update:
				if facts.Unknown != "" || facts.Source == nil || facts.Source.Refusal != nil || !facts.Source.Terms.Matches(op.Cluster, facts.Clusters[op.Cluster].Labels) || facts.Clusters[op.Cluster].State != ClusterJoined {
					t.Errorf("writes a Work that is not asked for: %+v", facts)
				}
				if op.Kind == Update && (w.Foreign != "" && !(wasOurs(w, facts.ID) && (!w.Bound() || facts.Clusters[op.Cluster].Unbound)) || w.Carries() != facts.ID) {
					t.Errorf("overwrites a Work of another owner: %+v", w)
				}
			case Release:
				isClaimed := w.Bound() && facts.Source != nil && facts.Source.Refusal != nil && facts.Source.Refusal.Reason == ClaimedByPolicy
				if w.Source != facts.ID || !isClaimed && w.Carries() == facts.ID {
					t.Errorf("releases a Work that no one took over: %+v, Work %+v", facts, w)
				}
			case Amend:
				if w.Source != facts.ID || w.Foreign != "" || facts.Source == nil || w.Preserves() || !facts.Source.Options.PreserveOnDeletion || !w.IsMadeFrom(facts.Source.UID) {
					t.Errorf("amends for nothing: %+v, Work %+v", facts, w)
				}
			case Detach, Drop:
				if in, isOrphaning := facts.Stalls[op.Cluster]; op.Kind == Detach && isOrphaning && in == 0 && w.Source == facts.ID && w.Foreign == "" && w.IsOrphaning() {
					continue
				}
				if w.Source != facts.ID || w.Foreign != "" || !w.IsLong() || !facts.Clusters[op.Cluster].Doubled || facts.Source == nil || facts.Source.Refusal == nil || facts.Source.Refusal.Reason != ClaimedByPolicy {
					t.Errorf("drops a Work that has no other beside it: %+v, Work %+v", facts, w)
				}
				if op.Kind == Drop && slices.Contains(w.Finalizers, render.ExecutionFinalizer) {
					t.Errorf("drops a Work whose object would be deleted with it: %+v", w)
				}
			default:
				t.Errorf("plans %q", op.Kind)
			}
		}
	})
}

// madeUp makes facts from a list of choices; where the list ends, the first choice
// is taken. The Works belong to the second source.
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
		Stalls:            map[string]time.Duration{},
	}
	changes := []func(*unstructured.Unstructured){sample.Edited, sample.Terminating, sample.Relabelled, sample.Misfiled, sample.BindingLabel, sample.Bound, sample.Quota, sample.Released, sample.Marked, sample.Overwritten, sample.Emptied, sample.Long, sample.Unfinalized, sample.Preserving}
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
		if in := pick(4); in > 1 {
			facts.Stalls[cluster] = time.Duration(in - 2)
		}
	}
	return facts
}

// TestNeeded: what a workload in waves needs on a cluster whose turn has not come stays there, and goes elsewhere.
func TestNeeded(t *testing.T) {
	page := pageSource("uid-1", "m1,m2")
	f := Facts{ID: sample.Page, Live: true, Clusters: joinedClusters("m1", "m2"), Works: map[string]*state.Work{"m1": pageWork(page, "m1"), "m2": pageWork(page, "m2")}}
	web := render.Identity{Group: "apps", Kind: "Deployment", Namespace: sample.Page.Namespace, Name: "web"}
	f.NeededBy = map[string]render.Identity{"m2": web}
	for what, s := range map[string]*Source{"deleted": nil, "no longer asked for": pageSource("uid-1", "m3")} {
		f.Source = s
		j := On(f)
		if len(j.Due) != 1 || j.Due[0].Cluster != "m1" {
			t.Errorf("%s: due are %v", what, j.Due)
		}
		if stays := j.Verdict.Targets["m2"]; stays.Decision != Unknown || !strings.Contains(stays.Because, web.String()) || stays.RecheckAfter != neededPeriod {
			t.Errorf("%s: %+v", what, stays)
		}
	}
	preserving := sample.Asking("uid-1", "m3")
	sample.Annotate(preserving, render.PreserveOnDeletionAnnotation, "true")
	if f.Source = NewSource(preserving, render.Wishes{}); !slices.ContainsFunc(On(f).Plan, func(op Operation) bool { return op.Kind == Amend && op.Cluster == "m2" }) {
		t.Error("the Work that stays does not say that it preserves its object")
	}
}

// TestNeededCanary: a canary that is not asked for for a moment holds up the others, also if Pods there need the object.
func TestNeededCanary(t *testing.T) {
	now := sample.Object(sample.Annotations{render.ClusterSelectorAnnotation: "tier=edge", render.WavesAnnotation: "m1;*"})
	was := now.DeepCopy()
	now.Object["data"] = map[string]any{"key": "new"}
	f := Facts{ID: sample.Page, Source: NewSource(now.DeepCopy(), render.Wishes{}), Live: true, Clusters: joinedClusters("m1", "m2"), NeededBy: map[string]render.Identity{"m1": {Kind: "Pod", Name: "web"}}}
	f.Clusters["m2"] = ClusterFacts{State: ClusterJoined, Labels: map[string]string{"tier": "edge"}}
	f.Works = map[string]*state.Work{"m1": state.NewWork(sample.Work(now, "m1", sample.Applied("False"))), "m2": state.NewWork(sample.Work(was, "m2", sample.Applied("True")))}
	if target := Decide(f).Targets["m2"]; target.Decision == Wanted {
		t.Error("m2 gets the content without its canary")
	}
}

// TestChoosesNoCluster: a choice that matches no cluster may be misspelt, and deletes what was there. It says so; one that matches some
// does not, nor does an opt-out.
func TestChoosesNoCluster(t *testing.T) {
	clusters := joinedClusters("m1", "m2")
	for name, tc := range map[string]struct {
		own, namespace sample.Annotations
		want           string // the refusal
		explained      string
	}{
		"Glob":     {sample.Annotations{render.ClustersAnnotation: "x*"}, nil, `it asks for karmada.target/clusters="x*", which matches no cluster`, ""},
		"Selector": {sample.Annotations{render.ClusterSelectorAnnotation: "tier=egde"}, nil, `it asks for karmada.target/cluster-selector="tier=egde", which matches no cluster`, ""},
		"Default":  {nil, sample.Annotations{render.ClustersAnnotation: "x*"}, `it asks for karmada.target/clusters="x*" (the Namespace's), which matches no cluster`, ""},
		"Excluded": {sample.Annotations{render.ClustersAnnotation: "m2"}, sample.Annotations{render.ClustersAnnotation: "*,!m2"}, `it asks for karmada.target/clusters="m2", karmada.target/clusters="*,!m2" (the Namespace's exclusions), which matches no cluster`, ""},
		"Some":     {sample.Annotations{render.ClustersAnnotation: "x*,m1"}, nil, "", ""},
		"Missing":  {sample.Annotations{render.ClustersAnnotation: "m9"}, nil, `no cluster "m9" has joined yet`, ""},
		"OptsOut":  {sample.Annotations{render.ClustersAnnotation: ""}, sample.Annotations{render.ClustersAnnotation: "*"}, "", "it opts out of its Namespace's default"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{ID: sample.Page, Live: true, Source: NewSource(sample.Object(tc.own), render.ReadWishes(tc.namespace)), Clusters: clusters}
			var got string
			for _, r := range Decide(f).Refusals {
				got += r.Message
			}
			if got != tc.want {
				t.Errorf("the refusal is %q, want %q", got, tc.want)
			}
			steps := Explain(f).Steps
			if last := steps[len(steps)-1].What; tc.explained != "" && last != tc.explained {
				t.Errorf("explain says %q", last)
			}
		})
	}
}
