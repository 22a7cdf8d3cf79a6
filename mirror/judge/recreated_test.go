package judge

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestRecreated: the Work of an earlier object is deleted only if that cannot become what is wanted, and nothing speaks against it.
func TestRecreated(t *testing.T) {
	sealed := func(uid, value string, annotations sample.Annotations, changes ...sample.Change) *Source {
		u := sample.Asking(uid, "m1")
		u.Object["immutable"], u.Object["data"] = true, map[string]any{"key": value}
		for key, value := range annotations {
			sample.Annotate(u, key, value)
		}
		for _, change := range changes {
			change(u)
		}
		return NewSource(u, render.Wishes{})
	}
	withoutUID := func(u *unstructured.Unstructured) {
		a := u.GetAnnotations()
		delete(a, render.SourceUIDAnnotation)
		u.SetAnnotations(a)
	}
	going := func(u *unstructured.Unstructured) {
		u.SetFinalizers([]string{"example.com/backup"})
		u.SetDeletionTimestamp(&metav1.Time{Time: sample.Created})
	}
	was := sealed("1", "v", nil)
	open := func() *Source {
		u := sample.Asking("1", "m1")
		u.Object["data"] = map[string]any{"key": "v"}
		return NewSource(u, render.Wishes{})
	}()
	cases := map[string]struct {
		reason  string
		had, is *Source
		changes []sample.Change
		want    []OperationKind
	}{
		"Other":     {"its data is immutable", was, sealed("2", "w", nil), nil, []OperationKind{Delete}},
		"Same":      {"it is as it was", was, sealed("2", "v", nil), nil, []OperationKind{Update}},
		"Becomes":   {"it becomes immutable", open, sealed("2", "w", nil), nil, []OperationKind{Update}},
		"Edited":    {"it is the same object", was, sealed("1", "w", nil), nil, []OperationKind{Update}},
		"Note":      {"a Work's note was removed", was, sealed("1", "v", nil), []sample.Change{withoutUID}, []OperationKind{Update}},
		"NoteOther": {"of which object the Work is, is not known", was, sealed("2", "w", nil), []sample.Change{withoutUID}, []OperationKind{Update}},
		"Preserves": {"the object would stay", was, sealed("2", "w", sample.Annotations{render.PreserveOnDeletionAnnotation: "true"}), nil, []OperationKind{Update}},
		"Suspended": {"nothing is to change there, but that it is suspended", was, sealed("2", "w", sample.Annotations{render.SuspendAnnotation: "true"}), nil, []OperationKind{Adjust}},
		"InWaves":   {"it is its turn", was, sealed("2", "w", sample.Annotations{render.WavesAnnotation: "m1;*"}), nil, []OperationKind{Delete}},
		"Going":     {"nothing would be created", was, sealed("2", "w", nil, going), nil, []OperationKind{Update}},
		"Foreign":   {"it belongs to a policy", was, sealed("2", "w", nil), []sample.Change{sample.Bound}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := Facts{ID: sample.Page, Source: tc.is, Live: true, PoliciesLive: true, Clusters: joinedClusters("m1"), Works: map[string]*state.Work{"m1": pageWork(tc.had, "m1", tc.changes...)}}
			kinds := func() (kinds []OperationKind) {
				for _, op := range On(f).Plan {
					kinds = append(kinds, op.Kind)
				}
				return kinds
			}
			if got := kinds(); !slices.Equal(got, tc.want) {
				t.Errorf("%s: %v, not %v", tc.reason, got, tc.want)
			}
			if f.Live = false; slices.Contains(kinds(), Delete) {
				t.Errorf("%s: a cache proves it", tc.reason)
			}
		})
	}
	f := Facts{ID: sample.Page, Source: sealed("2", "w", nil), Live: true, Clusters: joinedClusters("m1"), Works: map[string]*state.Work{"m1": pageWork(was, "m1")}}
	if f.DefinitionCreated = sample.Created.Add(time.Hour); !Decide(f).NeedsApproval {
		t.Error("it went with its definition, and needs no approval")
	}
}

// TestReplacedRunsOnce: what runs once is not run again as it was before, nor before its turn, where it was deleted to be replaced.
func TestReplacedRunsOnce(t *testing.T) {
	id := render.Identity{Group: "batch", Kind: "Job", Namespace: sample.Page.Namespace, Name: sample.Page.Name}
	job := func(uid, image string) *Source {
		u := sample.Asking(uid, "*")
		u.SetGroupVersionKind(state.JobKind.WithVersion("v1"))
		delete(u.Object, "data")
		u.Object["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{"name": "migrate", "image": image}}}}}
		sample.Annotate(u, render.WavesAnnotation, "c1;*")
		return NewSource(u, render.Wishes{})
	}
	work := func(s *Source, cluster string) *state.Work {
		return state.NewWork(sample.WorkOf(s.Template.Work(cluster), sample.Applied("True")))
	}
	was, is := job("1", "migrate:1"), job("3", "migrate:3")
	for reason, has := range map[string]*Source{"another cluster has it": was, "none has it": is} {
		f := Facts{ID: id, Source: is, Clusters: joinedClusters("c1", "p1", "p2"), PoliciesLive: true, Live: true, Now: sample.Created.Add(time.Hour), LeastBake: DefaultLeastBake,
			Works:    map[string]*state.Work{"c1": work(is, "c1"), "p2": work(has, "p2")},
			Vanished: map[string]*state.Work{"p1": work(was, "p1")}, Replaced: map[string]bool{"p1": true}}
		for _, op := range On(f).Plan {
			if op.Cluster == "p1" {
				t.Errorf("%s: %s on p1: %s", reason, op.Kind, op.Because)
			}
		}
	}
}
