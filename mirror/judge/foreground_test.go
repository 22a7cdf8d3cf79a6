package judge

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

func claimed(u *unstructured.Unstructured) *unstructured.Unstructured {
	u.SetLabels(map[string]string{"propagationpolicy.karmada.io/permanent-id": "x"})
	u.SetAnnotations(map[string]string{"propagationpolicy.karmada.io/name": "p", "propagationpolicy.karmada.io/namespace": sample.Page.Namespace})
	return u
}

// TestForegroundClaimed: an object was moved to a PropagationPolicy, and all our annotations were removed, as the
// documentation says ("remove the annotation: at once"). The finalizer stays as long as the policy claims
// it: the user who then uninstalls the daemon has objects that cannot be deleted.
func TestForegroundClaimed(t *testing.T) {
	f := Facts{ID: sample.Page, Clusters: joinedClusters("m1"), Works: map[string]*state.Work{}, Source: NewSource(finalized(claimed(sample.Object(nil))), render.Wishes{})}
	if f.Source.Refusal == nil || f.Source.Refusal.Reason != ClaimedByPolicy {
		t.Fatalf("not claimed: %+v", f.Source.Refusal)
	}
	if got := On(f).Finalizer(); got != RemoveFinalizer {
		t.Errorf("got %d, want %d", got, RemoveFinalizer)
	}
}

// TestForegroundMisspelt: the annotation that asks for the foreground is misspelt later, on the object or on its
// Namespace. While the object is there, that may be a mistake and changes nothing (RefusedHas of
// TestFinalizer). Once it is being deleted, the same mistake releases it at once, before its Work.
func TestForegroundMisspelt(t *testing.T) {
	for _, change := range []func(*unstructured.Unstructured) *unstructured.Unstructured{
		func(u *unstructured.Unstructured) *unstructured.Unstructured { return u }, deleted,
	} {
		u := change(finalized(sample.Object(sample.Annotations{render.ClustersAnnotation: "m1", render.DeletionAnnotation: "Foreground"})))
		f := Facts{ID: sample.Page, Clusters: joinedClusters("m1"), Source: NewSource(u, render.Wishes{}),
			Works: map[string]*state.Work{"m1": state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1"))}}
		if got := On(f).Finalizer(); got != LeaveFinalizer {
			t.Errorf("leaving: %t: got %d, want %d", f.Source.Leaving, got, LeaveFinalizer)
		}
	}
}

// TestForegroundInherited: a Namespace gets defaults that name a cluster that has not joined. The cached stub of an
// object in it has no UID, and nothing makes the daemon read it (Unread needs a Work that is wanted), so
// the finalizer is due at each look and can never be set: SetFinalizer finds another UID. Each sweep
// counts and logs a defect.
func TestForegroundInherited(t *testing.T) {
	stub := state.NewObject(sample.Object(nil))
	defaults := render.ReadWishes(foreground(sample.Annotations{render.ClustersAnnotation: "nosuch"}))
	j := On(Facts{ID: sample.Page, Clusters: map[string]ClusterFacts{"nosuch": {}}, Works: map[string]*state.Work{}, Source: SourceOf(stub, defaults)})
	if j.Finalizer() == AddFinalizer && j.Facts.Source.UID == "" && !j.Verdict.Unread {
		t.Error("the finalizer is to be set on an object without a UID, and the object is not to be read")
	}
}

// TestForegroundHeldBecause: the mark on a Work that is held because its definition is going must say so
// (BecauseDefinitionTerminating: "Marks on Works contain them"): after a restart, gather.hadDefinition knows
// from it alone that there was a definition, and without that the Works are Unknown, and no approval
// deletes them. That of a leaving source says only that it is being deleted.
func TestForegroundHeldBecause(t *testing.T) {
	f := Facts{ID: sample.Page, Live: true, Definition: DefinitionTerminating, Clusters: joinedClusters("m1"),
		Source: NewSource(deleted(finalized(sample.Object(foreground(sample.Annotations{render.ClustersAnnotation: "m1"})))), render.Wishes{}),
		Works:  map[string]*state.Work{"m1": state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1"))}}
	v := Decide(f)
	if !v.NeedsApproval {
		t.Fatal("needs no approval")
	}
	if because := v.Targets["m1"].Because; because != BecauseDefinitionTerminating && because != BecauseDefinitionDeleted {
		t.Errorf("its mark would say %q", because)
	}
}

// TestForegroundClusterGone: the member was removed, and no one completes the deletion of its Work. The notice
// blames a member that has not answered.
func TestForegroundClusterGone(t *testing.T) {
	f := Facts{ID: sample.Page, Clusters: map[string]ClusterFacts{"m1": {}},
		Source: NewSource(deleted(finalized(sample.Object(foreground(sample.Annotations{render.ClustersAnnotation: "m1"})))), render.Wishes{}),
		Works:  map[string]*state.Work{"m1": state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1", sample.Terminating))}}
	if got, other := f.delays(f.Works["m1"]), (Facts{Clusters: joinedClusters("m1")}).delays(f.Works["m1"]); got == other {
		t.Errorf("a cluster that does not exist: %q", got)
	}
}
