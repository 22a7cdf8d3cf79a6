package mirror

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

// inWaves is the page, in two waves.
func inWaves(clusters string) *unstructured.Unstructured {
	return sample.Object(sample.Annotations{render.ClustersAnnotation: clusters, render.WavesAnnotation: "m1;*"})
}

// TestWavesOnStandby: a standby does not know what the leader has deleted, and notes nothing.
func TestWavesOnStandby(t *testing.T) {
	s := newAPIServer(t)
	s.list(configMaps, inWaves("m1"))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	if c.queue.Load() != nil {
		t.Fatal("it leads")
	}
	for i := range 100 { // clusters that leave the annotation
		w := state.NewWork(sample.Work(inWaves("m1"), fmt.Sprint("ephemeral-", i)))
		c.workChanged(nil, w)
		c.workChanged(w, nil)
	}
	c.memory.Prune()
	if n := len(c.memory.Vanished(sample.Page)); n > 0 {
		t.Errorf("a standby keeps %d Works that the leader has deleted", n)
	}
}

// TestWavesRelabel: a Work of a later wave gets back our label at once, as without waves.
func TestWavesRelabel(t *testing.T) {
	for _, waves := range []string{"", "m1;*"} {
		s := newAPIServer(t)
		old := sample.Object(sample.Annotations{render.ClustersAnnotation: "*", render.WavesAnnotation: waves})
		if waves == "" {
			old = sample.Object(sample.Annotations{render.ClustersAnnotation: "*"})
		}
		now := old.DeepCopy()
		now.Object["data"] = map[string]any{"key": "new"}
		s.list(configMaps, now)
		failed := sample.Work(now, "m1", sample.Applied("False"))
		bare := sample.Work(old, "m2", sample.Applied("True"))
		labels := bare.GetLabels()
		delete(labels, render.ManagedByLabel)
		bare.SetLabels(labels)
		s.list(render.WorksResource, failed, bare)
		c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
		leading(t, c)
		w := state.NewWork(bare)
		labelled := *w
		labelled.Labelled = true
		c.workChanged(&labelled, nil) // as the watch shows it
		s.reply("POST /apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m2/works", alreadyExists())
		for range 4 {
			if _, err := c.reconcile(t.Context(), sample.Page, write.Others); err != nil {
				t.Error(err)
			}
		}
		found := false
		for _, write := range s.writes {
			found = found || write == "update m2 at "+bare.GetResourceVersion()
		}
		if !found {
			t.Errorf("waves %q: the label is not repaired: %q", waves, s.writes)
		}
	}
}

func alreadyExists() error {
	return apierrors.NewAlreadyExists(render.WorksResource.GroupResource(), "page")
}

// TestWavesUnasked: a Work that another owner has, on a cluster that the source does not ask for, is no
// part of the waves, nor of the status.
func TestWavesUnasked(t *testing.T) {
	for name, owned := range map[string]sample.Change{
		"Bound": sample.Bound,
		"Stray": func(u *unstructured.Unstructured) {
			annotations := u.GetAnnotations()
			delete(annotations, render.SourceAnnotation)
			u.SetAnnotations(annotations)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			page := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1", render.WavesAnnotation: "m2;*"})
			s.list(configMaps, page)
			s.list(render.WorksResource, sample.Work(page, "m2", owned))
			s.list(state.ClustersResource, readyCluster("m1", sample.Created), readyCluster("m2", sample.Created))
			c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
			j := judge.On(c.caches.Facts(sample.Page))
			if len(j.Plan) != 1 || j.Plan[0].Cluster != "m1" {
				t.Errorf("planned: %v; m1: %s", j.Plan, j.Verdict.Targets["m1"].Because)
			}
			if counted := j.Reporting(); !slices.Equal(counted, []string{"m1"}) {
				t.Errorf("the status counts %v", counted)
			}
		})
	}
}

// TestBakeWhileAway: the canary m1 has the new content, and is to bake for ten minutes. After a minute, its
// cluster is no longer reachable, maybe because of the content. Nothing is reported any more, so it keeps the
// last report: healthy. After a quarter of an hour it comes back, and at that very moment its bake counts as
// over: m2 gets the content, before Karmada can have reported anything.
func TestBakeWhileAway(t *testing.T) {
	s, clock := newAPIServer(t), newFakeClock()
	s.events = map[schema.GroupVersionResource]chan any{state.ClustersResource: make(chan any)}
	page := func(value string) *unstructured.Unstructured {
		u := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1,m2", render.WavesAnnotation: "m1;*", render.WaveBakeAnnotation: "10m"})
		u.Object["data"] = map[string]any{"key": value}
		u.SetResourceVersion("6")
		return u
	}
	s.list(configMaps, page("new"))
	s.list(render.WorksResource, sample.Work(page("new"), "m1", sample.Applied("True"), sample.Generation(1)), sample.Work(page("old"), "m2", sample.Applied("True")))
	s.list(state.ClustersResource, readyCluster("m1", sample.Created), readyCluster("m2", sample.Created))
	c := newControllerOf(t, s, configured("", "", ""), clock)
	leading(t, c)
	ready := func(is, version string) {
		t.Helper()
		u := readyCluster("m1", clock.Now())
		u.SetResourceVersion(version)
		u.Object["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)["status"] = is
		s.events[state.ClustersResource] <- map[string]any{"type": "MODIFIED", "object": u}
		err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
			return c.caches.Facts(sample.Page).Clusters["m1"].Away == (is != "True"), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	syncPage(t, c)
	clock.Step(time.Minute)
	syncPage(t, c)
	ready("Unknown", "101")
	syncPage(t, c)
	clock.Step(15 * time.Minute)
	syncPage(t, c)
	if lasts, isSteady := c.caches.Facts(sample.Page).HealthyFor["m1"]; isSteady || len(s.writes) > 0 {
		t.Fatalf("while it is away: healthy for %s, %q", lasts, s.writes)
	}
	ready("True", "102")
	j := judge.On(c.caches.Facts(sample.Page))
	if slices.ContainsFunc(j.Plan, func(op judge.Operation) bool { return op.Cluster == "m2" && op.Kind.WritesContent() }) {
		t.Errorf("m2 is to get the content as soon as m1 is back: m1 counts as healthy for %s", j.Facts.HealthyFor["m1"])
	}
}

// TestWavesWriteWithoutEffect: admission alters the Works of a source in waves, all of them in the same way. After a restart,
// they are written again. Admission makes of that what is there already: the API server stores nothing, and no watch shows
// anything. By their notes, the Works are as they can be, so that the rollout is through.
func TestWavesWriteWithoutEffect(t *testing.T) {
	s, clock := newAPIServer(t), newFakeClock()
	page := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1,m2,m3", render.WavesAnnotation: "m1;m2;*"})
	page.SetResourceVersion("6")
	altered := func(u *unstructured.Unstructured) {
		manifest, err := render.ManifestOf(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		_, content, err := render.DigestOf(u.Object, u.GetNamespace(), u.GetName())
		if err != nil {
			t.Fatal(err)
		}
		sample.Annotate(u, render.WrittenAnnotation, fmt.Sprintf("1-%s-%d", content, u.GetGeneration()+1))
		manifest["data"].(map[string]any)["by-a-webhook"] = "x"
	}
	s.list(configMaps, page)
	var works []*unstructured.Unstructured
	for _, cluster := range []string{"m1", "m2", "m3"} {
		w := sample.Work(page, cluster, sample.Applied("True"), altered)
		works = append(works, w)
		s.reply("PATCH "+pathOf(render.WorksResource, w), written("7")) // as it was
	}
	s.list(render.WorksResource, works...)
	s.list(state.ClustersResource, readyCluster("m1", sample.Created), readyCluster("m2", sample.Created), readyCluster("m3", sample.Created))
	c := newControllerOf(t, s, configured("", "", ""), clock)
	leading(t, c)
	for waited := time.Duration(0); ; {
		result, err := c.reconcile(t.Context(), sample.Page, write.Others)
		if err != nil {
			t.Fatal(err)
		}
		j := judge.On(c.caches.Facts(sample.Page))
		if j.Verdict.Rollout.Current() == nil {
			return
		}
		if result.retry == 0 {
			t.Fatalf("after %s, nothing is scheduled, and the rollout is not through: %v", waited, j.Verdict.Rollout.Current())
		}
		if waited += result.retry; waited > 2*time.Minute {
			t.Fatalf("it takes %s", waited)
		}
		clock.Step(result.retry)
	}
}

// TestWavesOutageBetweenLists: of an outage that falls between two lists, only the time tells. It ends a bake.
func TestWavesOutageBetweenLists(t *testing.T) {
	s := newAPIServer(t)
	s.list(configMaps, inWaves("m1"))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	q := leading(t, c)
	since := func(at time.Time) *state.Cluster { return state.NewCluster(readyCluster("m1", at)) }
	c.clusterChanged(since(sample.Created), since(sample.Created))
	if again := waiting(q); len(again) > 0 {
		t.Errorf("nothing has changed: %v", again)
	}
	c.clusterChanged(since(sample.Created), since(sample.Created.Add(time.Hour)))
	if again := waiting(q); len(again) != 1 {
		t.Errorf("looked at again: %v", again)
	}
	away := func(at time.Time) *state.Cluster { w := since(at); w.IsReady = false; return w }
	c.clusterChanged(away(sample.Created), away(sample.Created.Add(time.Hour)))
	if again := waiting(q); len(again) != 1 { // a live read may have shown that it has changed
		t.Errorf("looked at again, while it is away: %v", again)
	}
}

// TestReadWaves: what the caches do not show yet has changed. A cluster that has left took its Work with it: it holds up
// nothing else of its source.
func TestReadWaves(t *testing.T) {
	work := sample.Work(sample.Asking("1", "m1"), "m1")
	live := func(items ...unstructured.Unstructured) any {
		list := &unstructured.UnstructuredList{Items: items}
		list.SetAPIVersion("work.karmada.io/v1alpha1")
		list.SetKind("WorkList")
		return list
	}
	const worksAt = "/apis/work.karmada.io/v1alpha1/works"
	for name, tc := range map[string]struct {
		cached    bool // the Work
		at        string
		answer    any
		isChanged bool
	}{
		"Nothing":        {cached: true},
		"ClusterHasLeft": {cached: true, at: m1At, answer: apierrors.NewNotFound(state.ClustersResource.GroupResource(), "m1"), isChanged: true},
		"ClusterIsAway":  {cached: true, at: m1At, answer: sample.Cluster("m1", ""), isChanged: true},
		"ClusterWasAway": {cached: true, at: m1At, answer: readyCluster("m1", sample.Created.Add(time.Minute)), isChanged: true},
		"WorkIsGone":     {cached: true, at: pathOf(render.WorksResource, work), answer: apierrors.NewNotFound(render.WorksResource.GroupResource(), work.GetName()), isChanged: true},
		"NoWork":         {at: worksAt, answer: live()},
		"WorkIsThere":    {at: worksAt, answer: live(*work), isChanged: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.list(state.ClustersResource, readyCluster("m1", sample.Created))
			if tc.cached {
				s.list(render.WorksResource, work)
			}
			c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
			s.reply(tc.at, tc.answer)
			facts := c.caches.Facts(sample.Page)
			facts.Clusters["m1"] = judge.ClusterFacts{State: judge.ClusterJoined}
			if err := c.caches.ReadWaves(t.Context(), &facts, []string{"m1"}); err != nil || facts.Changed["m1"] != tc.isChanged {
				t.Errorf("changed: %v, %v", facts.Changed, err)
			}
		})
	}
}

// TestGiveAwaitsTheFinalizer: nothing is created for a source that asks for the finalizer since the sync began.
func TestGiveAwaitsTheFinalizer(t *testing.T) {
	s, clock := newAPIServer(t), newFakeClock()
	s.list(configMaps, inForeground("m1"))
	c := newControllerOf(t, s, configured("", "", ""), clock)
	j := judge.On(c.caches.Facts(sample.Page))
	before := j
	source := *j.Facts.Source
	before.Facts.Source = &source
	source.Foreground = false
	latest := &judged{turn: make(chan struct{}, 1), Judgement: before, at: clock.Now()}
	clock.Step(proofAge + 1)
	for range 2 {
		c.give(t.Context(), latest, j.Plan[0], &write.Outcome{})
	}
	if len(s.sent()) > 0 || j.Plan[0].Kind != judge.Create {
		t.Errorf("%s: it sends %q", j.Plan[0].Kind, s.sent())
	}
}

// TestGiveJudgesAgain: what is to be written in waves, and has waited for a slot, is judged again.
func TestGiveJudgesAgain(t *testing.T) {
	for waited, want := range map[time.Duration][]string{0: {"create m2"}, proofAge + 1: nil} {
		s, clock := newAPIServer(t), newFakeClock()
		s.list(configMaps, inWaves("m1,m2"))
		s.list(state.ClustersResource, readyCluster("m1", sample.Created), readyCluster("m2", sample.Created))
		c := newControllerOf(t, s, configured("", "", ""), clock)
		facts := c.caches.Facts(sample.Page)
		facts.AllAtOnce = true
		j := judge.On(facts)
		j.Verdict.Rollout = &judge.Rollout{}
		i := slices.IndexFunc(j.Plan, func(op judge.Operation) bool { return op.Cluster == "m2" })
		latest := &judged{turn: make(chan struct{}, 1), Judgement: j, at: clock.Now()}
		clock.Step(waited)
		c.give(t.Context(), latest, j.Plan[i], &write.Outcome{})
		if !slices.Equal(s.sent(), want) {
			t.Errorf("after %s, it sends %q", waited, s.sent())
		}
	}
}
