package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// dividedFacts are the facts about a Deployment of three replicas with an annotation.
func dividedFacts(t *testing.T, replicas int64, wishes sample.Annotations, clusters map[string]ClusterFacts) Facts {
	t.Helper()
	u := workloadObject("Deployment", wishes)
	u.Object["spec"] = map[string]any{"replicas": replicas}
	f := Facts{ID: render.Identity{Group: "apps", Kind: "Deployment", Namespace: sample.Page.Namespace, Name: sample.Page.Name}, Source: NewSource(u, render.Wishes{}), Clusters: clusters, Works: map[string]*state.Work{}}
	if f.Source.Refusal != nil {
		t.Fatal(f.Source.Refusal)
	}
	if f.Source.Differences.Division.Divides() {
		paths, _ := render.ScalePathsOf(f.ID.GroupKind(), "")
		scale, err := f.Source.Template.Scale(paths)
		if err != nil {
			t.Fatal(err)
		}
		f.Scale = &Scale{Paths: paths, Scale: scale}
	}
	return f
}

// carryOut writes a plan into the Works of the facts, and returns the operations as words.
func carryOut(t *testing.T, f Facts) (did []string) {
	t.Helper()
	v := Decide(f)
	for _, op := range v.Plan() {
		word := fmt.Sprintf("%s %s", op.Kind, op.Cluster)
		if op.Kind.WritesContent() {
			template, err := v.Targets[op.Cluster].edited()
			if err != nil {
				t.Fatal(err)
			}
			u := sample.WorkOf(template.Work(op.Cluster))
			replicas, _, _ := unstructured.NestedInt64(manifestIn(t, u), "spec", "replicas")
			word += fmt.Sprint(" ", replicas)
			f.Works[op.Cluster] = state.NewWork(u)
		}
		did = append(did, word)
	}
	return did
}

func manifestIn(t *testing.T, work *unstructured.Unstructured) map[string]any {
	t.Helper()
	manifest, err := render.ManifestOf(work.Object)
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}

// TestDivided: what each cluster gets, and what becomes of it when something changes.
func TestDivided(t *testing.T) {
	asks := func(clusters, replicas string) sample.Annotations {
		return sample.Annotations{render.ClustersAnnotation: clusters, render.ReplicasAnnotation: replicas}
	}
	clusters := joinedClusters("m1", "m2", "m3")
	clusters["absent"] = ClusterFacts{}
	clusters["leaving"] = ClusterFacts{State: ClusterTerminating}
	clusters["closed"] = ClusterFacts{State: ClusterJoined, Forbidden: true}
	whole := sample.Annotations{render.ClustersAnnotation: "m1,m2"}
	cases := map[string]struct {
		reason              string
		replicas            int64
		before, after       sample.Annotations
		did, then           []string
		unplaced, unplaced2 string
	}{
		"Even": {
			reason: "equal shares", replicas: 6,
			before: asks("m1,m2,m3", "divide"), did: []string{"create m1 2", "create m2 2", "create m3 2"},
		},
		"Weights": {
			reason: "the highest matching weight; 0 is no replicas, and deletes nothing", replicas: 6,
			before: asks("m1,m2,m3", "m1=2,m3=0,m*=0,m2=1"), did: []string{"create m1 4", "create m2 2", "create m3 0"},
		},
		"Moved": {
			reason: "clusters that get more come first", replicas: 6,
			before: asks("m1,m2", "m1=5"), did: []string{"create m1 5", "create m2 1"},
			after: asks("m1,m2", "m2=5"), then: []string{"update m2 5", "then", "update m1 1"},
		},
		"Divided": {
			reason: "from all to a share is less", replicas: 6,
			before: whole, did: []string{"create m1 6", "create m2 6"},
			after: asks("m1,m2", "m1=5"), then: []string{"update m1 5", "update m2 1"},
		},
		"NoLonger": {
			reason: "from a share to all is more", replicas: 6,
			before: asks("m1,m2", "m1=5"), did: []string{"create m1 5", "create m2 1"},
			after: whole, then: []string{"update m1 6", "update m2 6"},
		},
		"Missing": {
			reason: "a cluster that does not exist has no share", replicas: 6,
			before: asks("m1,m2,absent", "divide"), did: []string{"create m1 3", "create m2 3"},
		},
		"Leaving": {
			reason: "one that is leaving still has one, which no one takes over", replicas: 6,
			before: asks("m1,m2,leaving", "divide"), did: []string{"create m1 2", "create m2 2"},
			unplaced: `2 of 6 replicas are not placed: 2 for cluster "leaving"`,
		},
		"Forbidden": {
			reason: "so has one that is not allowed", replicas: 6,
			before: asks("m1,closed", "closed=2"), did: []string{"create m1 2"},
			unplaced: `4 of 6 replicas are not placed: 4 for cluster "closed"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := dividedFacts(t, tc.replicas, tc.before, clusters)
			if got := unplacedIn(Decide(f)); !strings.HasPrefix(got, tc.unplaced) || (got == "") != (tc.unplaced == "") {
				t.Errorf("%s: unplaced %q, want %q", tc.reason, got, tc.unplaced)
			}
			if diff := cmp.Diff(tc.did, carryOut(t, f)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if again := carryOut(t, f); len(again) > 0 {
				t.Errorf("%s: it is written again: %q", tc.reason, again)
			}
			if tc.after == nil {
				return
			}
			next := dividedFacts(t, tc.replicas, tc.after, clusters)
			next.Works = f.Works
			then := carryOut(t, next)
			if later := carryOut(t, next); len(later) > 0 {
				then = append(append(then, "then"), later...)
			}
			if diff := cmp.Diff(tc.then, then); diff != "" {
				t.Errorf("%s: then -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestTiesStay: a source that is recreated moves no replicas, though its UID would break ties the other way.
func TestTiesStay(t *testing.T) {
	clusters := joinedClusters("m1", "m2")
	works := map[string]*state.Work{}
	for _, step := range []struct {
		reason   string
		uid      types.UID // "a" favors the first cluster by name, and "b" the last
		replicas int64
		want     []string
	}{
		{"it is new", "a", 3, []string{"create m1 2", "create m2 1"}},
		{"it is recreated", "b", 3, nil},
		{"it is edited, and as many replicas come either way", "b", 5, []string{"update m1 2", "update m2 3"}},
		{"it is recreated again", "a", 5, nil},
		{"it is scaled down", "a", 4, []string{"update m1 2", "update m2 2"}},
		{"each cluster has as many", "b", 4, nil},
	} {
		f := dividedFacts(t, step.replicas, sample.Annotations{render.ClustersAnnotation: "m1,m2", render.ReplicasAnnotation: "divide"}, clusters)
		f.Source.UID, f.Works = step.uid, works
		if diff := cmp.Diff(step.want, carryOut(t, f)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", step.reason, diff)
		}
	}
}

// dividedJob are the facts about a Job of five completions.
func dividedJob(t *testing.T, uid types.UID, pods int64, works map[string]*state.Work, clusters ...string) Facts {
	t.Helper()
	wishes := sample.Annotations{render.ClustersAnnotation: "m1,m2", render.ReplicasAnnotation: "divide"}
	f := dividedFacts(t, pods, wishes, joinedClusters(clusters...))
	u := workloadObject("Job", wishes)
	u.SetGroupVersionKind(state.JobKind.WithVersion("v1"))
	u.Object["spec"] = map[string]any{"parallelism": pods, "completions": int64(5)}
	f.Source = NewSource(u, render.Wishes{})
	f.ID, f.Works, f.Source.UID = f.Source.ID, works, uid
	f.Scale.Paths, _ = render.ScalePathsOf(f.ID.GroupKind(), "")
	scale, err := f.Source.Template.Scale(f.Scale.Paths)
	if err != nil {
		t.Fatal(err)
	}
	f.Scale.Scale = scale
	return f
}

// TestCompletionsStay: a Job's members refuse other completions, even if its Pods are divided evenly.
func TestCompletionsStay(t *testing.T) {
	works, pods := map[string]*state.Work{}, map[types.UID]int64{"a": 2, "b": 4} // edited as well
	for _, uid := range []types.UID{"a", "b", "a", "b"} {                        // recreated
		f := dividedJob(t, uid, pods[uid], works, "m1", "m2")
		if carryOut(t, f); sharesOf(f)["m1"].Completions != 3 {
			t.Errorf("with UID %s, m1 has %d of 5 completions", uid, sharesOf(f)["m1"].Completions)
		}
	}
}

// TestCompletionsReturn: a cluster that leaves and comes back has what it had: its members refuse all else.
func TestCompletionsReturn(t *testing.T) {
	for _, uid := range []types.UID{"a", "b"} {
		works := map[string]*state.Work{}
		f := dividedJob(t, uid, 2, works, "m1", "m2")
		carryOut(t, f)
		before := sharesOf(f)
		delete(works, "m2")
		carryOut(t, dividedJob(t, uid, 2, works, "m1"))
		if diff := cmp.Diff(before, sharesOf(dividedJob(t, uid, 2, works, "m1", "m2"))); diff != "" {
			t.Errorf("with UID %s: -before +after:\n%s", uid, diff)
		}
	}
}

func unplacedIn(v Verdict) string {
	for _, notice := range v.Notices {
		if notice.Reason == ReplicasUnplaced {
			return notice.Message
		}
	}
	return ""
}

// TestUnplacedByRefusal: what is only under way, or awaits a live read, is no refusal.
func TestUnplacedByRefusal(t *testing.T) {
	wishes := sample.Annotations{render.ClustersAnnotation: "m1,m2", render.ReplicasAnnotation: "divide"}
	rule := map[string]any{"overriders": map[string]any{"labelsOverrider": []any{map[string]any{"operator": "add", "value": map[string]any{"tier": "prod"}}}}}
	policy := &unstructured.Unstructured{Object: map[string]any{"kind": "ClusterOverridePolicy", "spec": map[string]any{"overrideRules": []any{rule}}}}
	policy.SetAPIVersion("policy.karmada.io/v1alpha1")
	policy.SetName("prod")
	for name, c := range map[string]struct {
		change func(*Facts)
		want   string
	}{
		"WriteUnderWay": {func(f *Facts) { f.Clusters["m1"] = ClusterFacts{State: ClusterJoined, WriteUnderWay: true} }, ""},
		"Lost": {func(f *Facts) { // by the cache, a policy is gone
			for name := range f.Clusters {
				f.Clusters[name] = ClusterFacts{State: ClusterJoined, Member: &render.Member{Name: name}}
			}
			few := dividedFacts(t, 2, wishes, f.Clusters)
			few.PoliciesLive, few.Policies = true, []*state.Policy{state.NewPolicy(policy)}
			carryOut(t, few)
			f.Works = few.Works
		}, ""},
		"Deleted":   {func(f *Facts) { f.Source.Deleted = sample.Created }, ""},
		"Unread":    {func(f *Facts) { f.Source.Template = nil }, ""},
		"Forbidden": {func(f *Facts) { f.Clusters["m1"] = ClusterFacts{State: ClusterJoined, Forbidden: true} }, `3 of 6 replicas are not placed: 3 for cluster "m1"`},
		"Leaving":   {func(f *Facts) { f.Clusters["m1"] = ClusterFacts{State: ClusterTerminating} }, `3 of 6 replicas are not placed: 3 for cluster "m1"`},
	} {
		f := dividedFacts(t, 6, wishes, joinedClusters("m1", "m2"))
		c.change(&f)
		if got := unplacedIn(Decide(f)); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestLowersLast: no cluster gets fewer replicas while another has yet to get more, whatever keeps
// that from them; one that cannot have any holds up no other.
func TestLowersLast(t *testing.T) {
	before := sample.Annotations{render.ClustersAnnotation: "m1,m2", render.ReplicasAnnotation: "m1=5"}
	after := sample.Annotations{render.ClustersAnnotation: "m1,m2,m3", render.ReplicasAnnotation: "m3=9,m2=5"}
	cases := map[string]struct {
		reason string
		m3     ClusterFacts
		change func(*Facts)
		want   []string
	}{
		"Writable": {"the others first", ClusterFacts{State: ClusterJoined}, func(*Facts) {}, []string{"update m1 5", "update m2 4", "create m3 7"}},
		"UnderWay": {"a write may still fail", ClusterFacts{State: ClusterJoined, WriteUnderWay: true}, func(*Facts) {}, []string{"update m1 5", "update m2 4"}},
		"Forbidden": {"what cannot be placed is not waited for", ClusterFacts{State: ClusterJoined, Forbidden: true}, func(f *Facts) {
			f.Works["m2"] = nil
			delete(f.Works, "m2")
			f.Clusters["m2"] = ClusterFacts{State: ClusterJoined, Forbidden: true}
		}, []string{"update m1 1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := dividedFacts(t, 6, before, joinedClusters("m1", "m2"))
			carryOut(t, f)
			clusters := joinedClusters("m1", "m2")
			clusters["m3"] = tc.m3
			next := dividedFacts(t, 12, after, clusters)
			next.Works = f.Works
			tc.change(&next)
			if diff := cmp.Diff(tc.want, carryOut(t, next)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestKeepsReplicas: m3 joins, and what it is to get cannot be rendered. The other clusters keep their replicas
// until it can, and get the rest of a change at once. A Work that was made before has all of them. A Job with
// completions waits with all of a change.
func TestKeepsReplicas(t *testing.T) {
	whole := sample.Annotations{render.ClustersAnnotation: "*", render.ExpandAnnotation: "true"}
	divided := sample.Annotations{render.ClustersAnnotation: "*", render.ExpandAnnotation: "true", render.ReplicasAnnotation: "divide"}
	job := render.Identity{Group: "batch", Kind: "Job", Namespace: sample.Page.Namespace, Name: sample.Page.Name}
	custom := render.Identity{Group: "argoproj.io", Kind: "Rollout", Namespace: sample.Page.Namespace, Name: sample.Page.Name}
	cases := map[string]struct {
		kind            string
		before          sample.Annotations
		did, want, then []string
	}{
		"Divided": {"Deployment", divided, []string{"create m1 3", "create m2 3"}, []string{"update m1 3", "update m2 3"}, []string{"update m1 3", "update m2 3", "create m3 2", "then", "update m1 2", "update m2 2"}},
		"Whole":   {"Deployment", whole, []string{"create m1 6", "create m2 6"}, []string{"update m1 4", "update m2 2"}, []string{"update m1 4", "update m2 2", "create m3 2", "then", "update m1 2"}},
		"Custom":  {"Rollout", whole, []string{"create m1 6", "create m2 6"}, []string{"update m1 4", "update m2 2"}, []string{"update m1 4", "update m2 2", "create m3 2", "then", "update m1 2"}},
		"Job":     {"Job", divided, []string{"create m1 3", "create m2 3"}, nil, []string{"create m3 2", "then", "update m1 2", "update m2 2"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			facts := func(wishes sample.Annotations, image string, regions map[string]string) Facts {
				u := workloadObject(tc.kind, wishes)
				u.Object["spec"] = map[string]any{"replicas": int64(6), "region": "$(cluster.region)", "image": image}
				f := dividedFacts(t, 6, wishes, map[string]ClusterFacts{})
				switch tc.kind {
				case custom.Kind:
					u.SetAPIVersion("argoproj.io/v1")
					if f.ID = custom; f.Scale != nil {
						f.Scale.Paths, _ = render.ScalePathsOf(custom.GroupKind(), ".spec.replicas")
					}
				case job.Kind:
					u.SetAPIVersion("batch/v1")
					f.ID, f.Scale.HasCompletions, f.Scale.Completions = job, true, 6
				}
				for name, region := range regions {
					m := &render.Member{Name: name, Region: region}
					f.Clusters[name] = ClusterFacts{State: ClusterJoined, Labels: m.SelectorLabels(), Member: m}
				}
				f.Source, f.PoliciesLive = NewSource(u, render.Wishes{}), true
				return f
			}
			before := facts(tc.before, "a", map[string]string{"m1": "eu", "m2": "eu"})
			if diff := cmp.Diff(tc.did, carryOut(t, before)); diff != "" {
				t.Fatal(diff)
			}
			f := facts(divided, "b", map[string]string{"m1": "eu", "m2": "eu", "m3": ""})
			f.Works = before.Works
			if Decide(f).Unread {
				t.Error("it counts as unread, so that it is read at each look")
			}
			e := Explain(f)
			if keeps := e.Clusters[0].Keeps || e.Clusters[0].Waits; !keeps || e.Clusters[0].Note != noteKeeps && e.Clusters[0].Because != noteKeeps {
				t.Errorf("m1: %+v", e.Clusters[0])
			}
			if got := unplacedIn(Decide(f)); !strings.HasPrefix(got, `2 of 6 replicas are not placed: 2 for cluster "m3"`) || strings.Contains(got, "m1") {
				t.Errorf("unplaced: %s", got)
			}
			atOnce := f
			atOnce.SharesAtOnce = true
			if v := Decide(atOnce); v.Targets["m1"].notes.Share != "2" || v.Targets["m1"].Keeps {
				t.Errorf("at once: %+v", v.Targets["m1"])
			}
			if diff := cmp.Diff(tc.want, carryOut(t, f)); diff != "" {
				t.Errorf("m3 cannot be rendered: -want +got:\n%s", diff)
			}
			if again := carryOut(t, f); len(again) > 0 {
				t.Errorf("it is written again: %q", again)
			}
			f = facts(divided, "c", map[string]string{"m1": "eu", "m2": "eu", "m3": "us"})
			f.Works = before.Works
			did := append(carryOut(t, f), "then")
			if diff := cmp.Diff(tc.then, append(did, carryOut(t, f)...)); diff != "" {
				t.Errorf("m3 can be rendered: -want +got:\n%s", diff)
			}
		})
	}
}

// TestKeepsNoMore: m3 cannot be rendered. The others keep as many replicas as it lacks, and no more.
func TestKeepsNoMore(t *testing.T) {
	facts := func(replicas int64, clusters, weights string, regions map[string]string) Facts {
		wishes := sample.Annotations{render.ClustersAnnotation: clusters, render.ExpandAnnotation: "true", render.ReplicasAnnotation: weights}
		if weights == "" {
			delete(wishes, render.ReplicasAnnotation)
		}
		u := workloadObject("Deployment", wishes)
		u.Object["spec"] = map[string]any{"replicas": replicas, "region": "$(cluster.region)"}
		f := dividedFacts(t, replicas, wishes, map[string]ClusterFacts{})
		for name, region := range regions {
			m := &render.Member{Name: name, Region: region}
			f.Clusters[name] = ClusterFacts{State: ClusterJoined, Labels: m.SelectorLabels(), Member: m}
		}
		f.Source, f.PoliciesLive = NewSource(u, render.Wishes{}), true
		return f
	}
	two, three := map[string]string{"m1": "eu", "m2": "eu"}, map[string]string{"m1": "eu", "m2": "eu", "m3": ""}
	for name, tc := range map[string]struct {
		before, after Facts
		want          []string
	}{
		"ScaledDown": {facts(60, "*", "divide", two), facts(6, "*", "divide", three), []string{"update m1 4", "update m2 2"}},
		"Whole":      {facts(2, "*", "", two), facts(9, "*", "divide", three), []string{"update m1 3", "update m2 3"}}, // they never had 9
		"WholeLess":  {facts(9, "*", "", two), facts(3, "*", "divide", three), []string{"update m1 2", "update m2 1"}},
		"Moved":      {facts(100, "*", "m1=99,m2=1", two), facts(100, "*", "m1=0,m2=99,m3=1", three), []string{"update m2 99", "update m1 1"}},
		"Removed":    {facts(6, "m1,m2", "m1=2", two), facts(2, "m2,m3", "divide", three), []string{"update m2 2"}}, // m1 is deleted soon
	} {
		t.Run(name, func(t *testing.T) {
			carryOut(t, tc.before)
			tc.after.Works = tc.before.Works
			var did []string
			for range 4 {
				did = append(did, carryOut(t, tc.after)...)
			}
			if diff := cmp.Diff(tc.want, did); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestRisesNowhere: m1 has five of six replicas, m2 is to have five, and cannot get them for as long as its
// member is away. m1 gets its content all the same, in waves, too.
func TestRisesNowhere(t *testing.T) {
	for name, change := range map[string]func(*Facts){
		"Forbidden": func(f *Facts) { f.Clusters["m2"] = ClusterFacts{State: ClusterJoined, Forbidden: true} },
		"Leaving":   func(f *Facts) { f.Clusters["m2"] = ClusterFacts{State: ClusterTerminating} },
		"BeingDeleted": func(f *Facts) { // it was removed from the annotation, and is back
			f.Clusters["m2"] = ClusterFacts{State: ClusterJoined, Away: true}
			w := *f.Works["m2"]
			w.Terminating, w.State = true, state.WorkDeleting
			f.Works["m2"] = &w
		},
	} {
		for _, waves := range []string{"", "m1;m2"} {
			t.Run(name+waves, func(t *testing.T) {
				asks := func(replicas string) sample.Annotations {
					a := sample.Annotations{render.ClustersAnnotation: "m1,m2", render.ReplicasAnnotation: replicas}
					if waves != "" {
						a[render.WavesAnnotation] = waves
					}
					return a
				}
				before := dividedFacts(t, 6, asks("m1=5"), joinedClusters("m1", "m2"))
				before.PoliciesLive, before.AllAtOnce = true, true
				carryOut(t, before)
				f := dividedFacts(t, 6, asks("m2=5"), joinedClusters("m1", "m2"))
				f.PoliciesLive, f.Works, f.Now = true, before.Works, sample.Created.Add(time.Hour)
				change(&f)
				plan := Decide(f).Plan()
				i := slices.IndexFunc(plan, func(op Operation) bool { return op.Cluster == "m1" && op.Kind == Update })
				if i < 0 {
					t.Errorf("m1 is not to get its content: %+v", plan)
				}
			})
		}
	}
}

// TestUndividable: what has no replicas, or none that can be read.
func TestUndividable(t *testing.T) {
	f := dividedFacts(t, 6, sample.Annotations{render.ClustersAnnotation: "m1,m2", render.ReplicasAnnotation: "divide"}, joinedClusters("m1", "m2"))
	f.Scale = nil
	v := Decide(f)
	if got := unplacedIn(v); !strings.Contains(got, "no replicas to divide") || v.Targets["m1"].Decision != Wanted {
		t.Errorf("%q, %v", got, v.Targets["m1"])
	}
	f.Scale = &Scale{Fault: "an Indexed Job cannot be divided"}
	f.Works["m1"] = state.NewWork(sample.Work(workloadObject("Deployment", sample.Annotations{render.ClustersAnnotation: "m1"}), "m1"))
	v = Decide(f)
	if len(v.Plan()) > 0 || len(v.Refusals) != 1 || v.Refusals[0].Reason != OverrideFailed {
		t.Errorf("%v, %v", v.Plan(), v.Refusals)
	}
}

// TestUnknownNames: a name that no cluster has may be misspelt, in whichever annotation it is.
func TestUnknownNames(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		asks   sample.Annotations
		want   string
	}{
		"Suspend":   {"nothing would be suspended", sample.Annotations{render.SuspendAnnotation: "m1,tru"}, `karmada.target/suspend: no cluster "tru" has joined yet`},
		"Waves":     {"no cluster would go first", sample.Annotations{render.WavesAnnotation: "memebr1,m1 (1); *"}, `karmada.target/waves: no cluster "memebr1" has joined yet`},
		"LaterWave": {"and so with any wave", sample.Annotations{render.WavesAnnotation: "m1; m8,m9; *"}, `karmada.target/waves: no cluster "m8" or "m9" has joined yet`},
		"Weights":   {"it would have the weight 1", sample.Annotations{render.ReplicasAnnotation: "m1=1,mm2=0"}, `karmada.target/replicas: no cluster "mm2" has joined yet`},
		"Together":  {"all of them are reported", sample.Annotations{render.SuspendAnnotation: "x1", render.WavesAnnotation: "x1; *"}, `karmada.target/suspend: no cluster "x1" has joined yet; karmada.target/waves: no cluster "x1" has joined yet`},
		"Glob":      {"a glob may be for clusters to come", sample.Annotations{render.WavesAnnotation: "x*; *"}, ""},
		"Excluded":  {"and an exclusion does no harm", sample.Annotations{render.WavesAnnotation: "*, !x1"}, ""},
		"Elsewhere": {"that the source does not ask for a cluster is its own business", sample.Annotations{render.WavesAnnotation: "m3; *"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tc.asks[render.ClustersAnnotation] = "m1,m2,x*" // which chooses no cluster
			clusters := joinedClusters("m1", "m2", "m3")
			for _, unknown := range []string{"tru", "memebr1", "m8", "m9", "mm2", "x1"} {
				clusters[unknown] = ClusterFacts{State: ClusterMissing}
			}
			var got string
			v := Decide(dividedFacts(t, 1, tc.asks, clusters))
			for _, refusal := range v.Refusals {
				got += string(refusal.Reason) + ": " + refusal.Message
			}
			if want := strings.TrimSuffix("UnknownCluster: "+tc.want, "UnknownCluster: "); got != want {
				t.Errorf("%s: %s", tc.reason, got)
			}
			if len(v.Targets) != 2 {
				t.Errorf("a name is no target, even if a glob matches it: %v", v.Targets)
			}
		})
	}
}

// TestSuspendedSome: the Works of some clusters are suspended; a name that no cluster has may be
// misspelt.
func TestSuspendedSome(t *testing.T) {
	f := dividedFacts(t, 1, sample.Annotations{render.ClustersAnnotation: "m1,m2,m3", render.SuspendAnnotation: "m*,!m2,tru"}, joinedClusters("m1", "m2", "m3"))
	v := Decide(f)
	for _, op := range v.Plan() {
		body, err := op.Body(v)
		if err != nil {
			t.Fatal(err)
		}
		suspended, _, _ := unstructured.NestedBool(sample.WorkOf(body).Object, "spec", "suspendDispatching")
		if suspended != (op.Cluster != "m2") {
			t.Errorf("%s: suspended %v", op.Cluster, suspended)
		}
	}
	if len(v.Refusals) != 1 || v.Refusals[0].Reason != UnknownCluster || !strings.Contains(v.Refusals[0].Message, `"tru"`) {
		t.Errorf("refusals %v", v.Refusals)
	}
}

// TestExpandedPerCluster: clusters with the same values share what is made, and one that lacks a
// value keeps what it has.
func TestExpandedPerCluster(t *testing.T) {
	u := sample.Object(sample.Annotations{render.ClustersAnnotation: "*", render.ExpandAnnotation: "true"})
	u.Object["data"] = map[string]any{"tier": "$(cluster.label:tier)"}
	clusters := map[string]ClusterFacts{}
	for name, tier := range map[string]string{"m1": "a", "m2": "a", "m3": "b", "m4": ""} {
		m := &render.Member{Name: name, Labels: map[string]string{"tier": tier}}
		if tier == "" {
			m.Labels = nil
		}
		clusters[name] = ClusterFacts{State: ClusterJoined, Labels: m.SelectorLabels(), Member: m}
	}
	f := Facts{ID: sample.Page, Source: NewSource(u, render.Wishes{}), Clusters: clusters, Works: map[string]*state.Work{}}
	v := Decide(f)
	if v.Targets["m1"].Rendering != v.Targets["m2"].Rendering || v.Targets["m1"].Rendering == v.Targets["m3"].Rendering {
		t.Error("not exactly the clusters with the same values share a rendering")
	}
	if v.Targets["m4"].Decision != Unknown || len(v.Refusals) != 1 || v.Refusals[0].Reason != OverrideFailed || !strings.Contains(v.Refusals[0].Message, "m4") {
		t.Errorf("%v, %v", v.Targets["m4"], v.Refusals)
	}
	for _, op := range v.Plan() {
		body, err := op.Body(v)
		if err != nil {
			t.Fatal(err)
		}
		tier, _, _ := unstructured.NestedString(manifestIn(t, sample.WorkOf(body)), "data", "tier")
		if tier != clusters[op.Cluster].Labels["tier"] {
			t.Errorf("%s: %q", op.Cluster, tier)
		}
	}
}

// TestJoinsUnrenderable: m3 joins, and what it is to get cannot be rendered yet. m1 and m2 keep what they run: no
// cluster has the replicas of m3 so far. If another owner has its Work, they are unplaced.
func TestJoinsUnrenderable(t *testing.T) {
	wishes := sample.Annotations{render.ClustersAnnotation: "*", render.ReplicasAnnotation: "divide", render.ExpandAnnotation: "true"}
	for name, tc := range map[string]struct {
		region string
		taken  bool
		want   []string
	}{
		"OverrideFailed": {"$(cluster.region)", false, nil},
		"WorkConflict":   {"none", true, []string{"update m1 2", "update m2 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			facts := func(names ...string) Facts {
				clusters := map[string]ClusterFacts{}
				for _, name := range names {
					m := &render.Member{Name: name}
					if name != "m3" {
						m.Region = "europe"
					}
					clusters[name] = ClusterFacts{State: ClusterJoined, Labels: m.SelectorLabels(), Member: m}
				}
				f := dividedFacts(t, 6, wishes, clusters)
				u := workloadObject("Deployment", wishes)
				u.Object["spec"] = map[string]any{"replicas": int64(6), "region": tc.region}
				f.Source, f.PoliciesLive = NewSource(u, render.Wishes{}), true
				return f
			}
			before := facts("m1", "m2")
			if diff := cmp.Diff([]string{"create m1 3", "create m2 3"}, carryOut(t, before)); diff != "" {
				t.Fatal(diff)
			}
			f := facts("m1", "m2", "m3")
			f.Works = before.Works
			if tc.taken {
				w := *f.Works["m1"]
				w.Cluster, w.Foreign = "m3", "it has the label x"
				f.Works["m3"] = &w
			}
			if diff := cmp.Diff(tc.want, carryOut(t, f)); diff != "" {
				t.Errorf("m3 is %s: -want +got:\n%s", Decide(f).Targets["m3"].Because, diff)
			}
		})
	}
}

// TestUnplacedWherePassedOver: a cluster that the waves pass over does not get its replicas by itself.
func TestUnplacedWherePassedOver(t *testing.T) {
	for how, isReported := range map[string]bool{"": false, "suspended": true, "away": true} {
		clusters := joinedClusters("c1", "p1")
		asks := sample.Annotations{render.ClustersAnnotation: "c1,p1", render.ReplicasAnnotation: "p1=5", render.WavesAnnotation: "c1;*"}
		switch how {
		case "suspended":
			asks[render.SuspendAnnotation] = "p1"
		case "away":
			p1 := clusters["p1"]
			p1.Away = true
			clusters["p1"] = p1
		}
		v := Decide(dividedFacts(t, 6, asks, clusters))
		if got := unplacedIn(v) != ""; got != isReported {
			t.Errorf("%q: reported %t: %v", how, got, v.Notices)
		}
	}
}
