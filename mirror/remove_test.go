package mirror

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestDelete: a deletion needs a current proof.
func TestDelete(t *testing.T) {
	const deleted = "delete m1 if it is work-uid at 7"
	asksAgain := func(s *apiServer) { s.reply(pageAt, sample.Asking("1", "m1")) }
	cases := map[string]struct {
		reason string
		since  func(*Controller, *apiServer, *proof, *clocktesting.FakeClock)
		want   []string
		looks  bool // again
		fails  bool
	}{
		"AtOnce": {reason: "a deletion that has just been proved is made", want: []string{deleted},
			since: func(*Controller, *apiServer, *proof, *clocktesting.FakeClock) {}},
		"LaterProved": {reason: "a deletion that has waited is proved again", want: []string{deleted},
			since: func(_ *Controller, _ *apiServer, _ *proof, c *clocktesting.FakeClock) { c.Step(proofAge + 1) }},
		"LaterWanted": {reason: "and the Work may be wanted by then", looks: true,
			since: func(_ *Controller, s *apiServer, _ *proof, c *clocktesting.FakeClock) {
				c.Step(proofAge + 1)
				asksAgain(s)
			}},
		"Changed": {reason: "a deletion is proved again if a cache has seen a change", looks: true,
			since: func(_ *Controller, s *apiServer, p *proof, _ *clocktesting.FakeClock) {
				p.seen = gather.Seen{}
				asksAgain(s)
			}},
		"SlowReads": {reason: "a proof that takes longer than it is valid is useless", fails: true,
			since: func(_ *Controller, s *apiServer, _ *proof, c *clocktesting.FakeClock) {
				c.Step(proofAge + 1)
				s.onRead(pageAt, func() { c.Step(proofAge + 1) })
			}},
		"SlowConfiguration": {reason: "the configuration is confirmed before the proof begins", want: []string{deleted},
			since: func(c *Controller, _ *apiServer, _ *proof, clock *clocktesting.FakeClock) {
				clock.Step(proofAge + 1)
				versions := c.currency.versions
				c.currency.versions = func(ctx context.Context) (string, string, error) {
					clock.Step(proofAge + 1)
					return versions(ctx)
				}
			}},
		"Overtaken": {reason: "and so is one that is outdated by the time it is made", looks: true,
			since: func(c *Controller, s *apiServer, _ *proof, clock *clocktesting.FakeClock) {
				clock.Step(proofAge + 1)
				s.onRead(pageAt, func() {
					if err := c.Configure(config.Parts{config.Key: configured(`"other"`, "", "")}); err != nil {
						t.Error(err)
					}
				})
			}},
		"CreatedMeanwhile": {reason: "the watch may show the source while it is proved again that there is none", looks: true,
			since: func(c *Controller, s *apiServer, _ *proof, clock *clocktesting.FakeClock) {
				clock.Step(proofAge + 1)
				s.onRead(pageAt, func() {
					page := sample.Asking("1", "m1")
					page.SetResourceVersion("1001")
					s.events[configMaps] <- map[string]any{"type": "ADDED", "object": page}
					isIn := func(context.Context) (bool, error) { return c.caches.Facts(sample.Page).Source != nil, nil }
					if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, isIn); err != nil {
						t.Error(err)
					}
				})
			}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.events = map[schema.GroupVersionResource]chan any{configMaps: make(chan any, 1)}
			s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"))
			clock := newFakeClock()
			c := newControllerOf(t, s, configured("", "", ""), clock)
			p, err := c.prove(t.Context(), sample.Page)
			if err != nil {
				t.Fatal(err)
			}
			c.breaker.Propose("configmaps", sample.Page, p.Due, nil)
			tc.since(c, s, p, clock)
			o := &write.Outcome{}
			c.delete(t.Context(), p, "m1", o)
			if diff := cmp.Diff(tc.want, s.sent()); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
			if (o.Retry > 0) != tc.looks || (o.Err() != nil) != tc.fails {
				t.Errorf("%s: retries after %s, %v", tc.reason, o.Retry, o.Err())
			}
		})
	}
}

// TestDeletionBesideAnother: a Work with the longer name is deleted without its object if another owner's Work carries that, too.
func TestDeletionBesideAnother(t *testing.T) {
	const deleted, detached = "delete m1 if it is work-uid at 7", "update m1 at 7"
	page := sample.Asking("1", "m1")
	absent := apierrors.NewNotFound(schema.GroupResource{}, sample.Page.WorkName())
	cases := map[string]struct {
		reason  string
		changes []sample.Change
		other   any
		isSlow  bool
		want    []string
		fails   bool
	}{
		"Alone":    {"it is deleted with its object", nil, absent, false, []string{deleted}, false},
		"Slow":     {"also if the other name takes long to read", nil, absent, true, []string{deleted}, false},
		"Beside":   {"Karmada would delete the object with it", nil, sample.Work(page, "m1", sample.Bound), false, []string{detached}, false},
		"Detached": {"Karmada leaves the object alone", []sample.Change{sample.Unfinalized}, sample.Work(page, "m1", sample.Bound), false, []string{deleted}, false},
		"Another":  {"another object has Karmada's name", nil, sample.Work(page, "m1", sample.Bound, sample.Overwritten), false, []string{deleted}, false},
		"Leaving":  {"the other one is being deleted, too", nil, sample.Work(page, "m1", sample.Bound, sample.Terminating), false, []string{deleted}, false},
		"Unread":   {"it is not known", nil, apierrors.NewInternalError(errors.New("no")), false, nil, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.list(render.WorksResource, sample.Work(page, "m1", append(tc.changes, sample.Long)...))
			clock := newFakeClock()
			c := newControllerOf(t, s, configured("", "", ""), clock)
			p, err := c.prove(t.Context(), sample.Page)
			if err != nil {
				t.Fatal(err)
			}
			c.breaker.Propose("configmaps", sample.Page, p.Due, nil)
			at := pathOf(render.WorksResource, sample.Work(page, "m1"))
			s.reply(at, tc.other)
			if tc.isSlow {
				s.onRead(at, func() { clock.Step(proofAge + 1) })
			}
			o := &write.Outcome{}
			c.delete(t.Context(), p, "m1", o)
			if diff := cmp.Diff(tc.want, s.sent()); diff != "" || (o.Err() != nil) != tc.fails {
				t.Errorf("%s: %v, -want +got:\n%s", tc.reason, o.Err(), diff)
			}
		})
	}
}

// TestDeniedDeletion: a deletion that the API server denies is a refusal. It is proved again each
// time that it is tried.
func TestDeniedDeletion(t *testing.T) {
	const deleted = "delete m1 if it is work-uid at 7"
	s := newAPIServer(t)
	w := sample.Work(sample.Asking("1", "m1"), "m1")
	s.list(render.WorksResource, w)
	s.reply("DELETE "+pathOf(render.WorksResource, w), apierrors.NewForbidden(render.WorksResource.GroupResource(), "x", errors.New("no")))
	proofs := 0
	s.onRead(pageAt, func() { proofs++ })
	clock := newFakeClock()
	c := newControllerOf(t, s, configured("", "", ""), clock)
	sync := func() syncResult {
		t.Helper()
		result, err := c.reconcile(t.Context(), sample.Page, write.Others)
		if err != nil || result.retry == 0 {
			t.Fatalf("retried after %s: %v", result.retry, err)
		}
		return result
	}
	result := sync()
	for range 3 { // the API server may not know our rights yet
		sync()
		clock.Step(result.retry)
		result = sync()
	}
	if want := slices.Repeat([]string{deleted}, 4); !slices.Equal(s.sent(), want) || proofs < 4 || !result.refused {
		t.Errorf("it is refused: %v; sent %q after %d proofs", result.refused, s.sent(), proofs)
	}
	clock.Step(result.retry)
	s.reply(pageAt, sample.Asking("1", "m1"))
	if sync(); len(s.sent()) > 4 {
		t.Errorf("a Work that is wanted again is deleted: %q", s.sent())
	}
}

// TestAnothersDeletionsCount: another process that leads by mistake has made a deletion that was
// due here too.
func TestAnothersDeletionsCount(t *testing.T) {
	other := sample.Numbered(1)
	due := &state.Work{Source: other, Cluster: "m1", Meta: state.Meta{UID: "other"}}
	going := *due
	going.Terminating = true
	cases := map[string]struct {
		reason        string
		before, after *state.Work
		want          string
	}{
		"Deleted":  {"its deletion has begun", due, &going, "hold m1 at 7"},
		"Deleting": {"that was counted when it began", &going, &going, "delete m1 if it is work-uid at 7"},
		"Left":     {"it has lost our label", due, nil, "delete m1 if it is work-uid at 7"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"))
			c := newControllerOf(t, s, configured("", "", `"holdAbove": {"works": 1, "percent": 10}`), newFakeClock())
			c.breaker.Propose("configmaps", other, []judge.Due{{Work: due}}, nil)
			c.workChanged(tc.before, tc.after)
			c.breaker.Propose("configmaps", other, nil, nil)
			if _, err := c.reconcile(t.Context(), sample.Page, write.Others); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tc.want}, s.sent()); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestIncompleteMove: an object that is deleted in one cluster but cannot be created in the
// other may be nowhere, which is reported to its owner.
func TestIncompleteMove(t *testing.T) {
	const creation = "POST /apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m2/works"
	cases := map[string]struct {
		reason  string
		refused any
		want    []judge.Reason
	}{
		"Moved":   {"it was created", nil, nil},
		"Failed":  {"it was not created", apierrors.NewInternalError(errors.New("boom")), []judge.Reason{judge.MoveIncomplete}},
		"Refused": {"and never will be, as it is", apierrors.NewRequestEntityTooLargeError("no"), []judge.Reason{judge.MoveIncomplete, judge.TooLarge}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.list(configMaps, sample.Asking("1", "m2"))
			s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"))
			if tc.refused != nil {
				s.reply(creation, tc.refused)
			}
			c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
			if _, err := c.reconcile(t.Context(), sample.Page, write.Others); (err != nil) != (name == "Failed") {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff([]string{"create m2", "delete m1 if it is work-uid at 7"}, s.sent()); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
			var told []judge.Reason
			for _, a := range c.announcements.take() {
				told = append(told, a.refusal.Reason)
			}
			if diff := cmp.Diff(tc.want, told); diff != "" {
				t.Errorf("%s: reported, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMoveIsHeldUp: an object may also be nowhere because a wave waits.
func TestMoveIsHeldUp(t *testing.T) {
	s := newAPIServer(t)
	annotations := sample.Annotations{render.ClustersAnnotation: "m1,m3", render.WavesAnnotation: "m1;*"}
	s.list(state.ClustersResource, sample.Cluster("m1", ""), sample.Cluster("m2", ""), sample.Cluster("m3", ""))
	s.list(configMaps, sample.Object(annotations))
	s.list(render.WorksResource, sample.Work(sample.Object(annotations), "m1", sample.Applied("False")), sample.Work(sample.Object(annotations), "m2"))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	syncPage(t, c)
	if told := c.announcements.take(); len(told) != 1 || told[0].refusal.Reason != judge.MoveIncomplete || !slices.Equal(s.sent(), []string{"delete m2 if it is work-uid at 7"}) {
		t.Errorf("told %+v, sent %q", told, s.sent())
	}
}

// TestMoveFails: and what differs in the new cluster can keep its Work from being created.
func TestMoveFails(t *testing.T) {
	s := newAPIServer(t)
	page := sample.Object(sample.Annotations{render.ClustersAnnotation: "m1", render.ExpandAnnotation: "true"})
	page.Object["data"] = map[string]any{"key": "$(cluster.region)"}
	s.list(configMaps, page)
	s.list(render.WorksResource, sample.Work(sample.Asking("1", "m2"), "m2"))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	syncPage(t, c)
	var told []judge.Reason
	for _, a := range c.announcements.take() {
		told = append(told, a.refusal.Reason)
	}
	if slices.Sort(told); !slices.Equal(told, []judge.Reason{judge.MoveIncomplete, judge.OverrideFailed}) || !slices.Equal(s.sent(), []string{"delete m2 if it is work-uid at 7"}) {
		t.Errorf("told %q, sent %q", told, s.sent())
	}
}

// TestAmendmentFails: a Work that cannot be made to preserve its object stays, and holds up no
// deletion in another cluster.
func TestAmendmentFails(t *testing.T) {
	s := newAPIServer(t)
	asks := sample.Annotations{render.ClustersAnnotation: "m3", render.PreserveOnDeletionAnnotation: "true"}
	s.list(configMaps, sample.Object(asks))
	s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"), sample.Work(sample.Object(asks), "m2", sample.Applied("True")))
	s.reply("PATCH /apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works/"+sample.Page.WorkName(), apierrors.NewInternalError(errors.New("boom")))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	if _, err := c.reconcile(t.Context(), sample.Page, write.Others); err == nil {
		t.Error("nothing is reported of the Work that stays")
	}
	sent := s.sent()
	if !slices.Contains(sent, "delete m2 if it is work-uid at 7") || !slices.Contains(sent, "update m1 at 7") || len(slices.DeleteFunc(sent, func(w string) bool { return !strings.HasPrefix(w, "delete") })) != 1 {
		t.Errorf("sent %q", sent)
	}
}

// TestHasMoved: a Work in the way of a source may have changed by the time the refusal is noted.
func TestHasMoved(t *testing.T) {
	foreign := func(u *unstructured.Unstructured) {
		sample.Bound(u)
		sample.Annotate(u, render.SourceAnnotation, "ConfigMap/shop/page")
	}
	s := newAPIServer(t)
	s.list(configMaps, sample.Asking("1", "m1"))
	s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1", foreign))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	j := judge.On(c.caches.Facts(sample.Page))
	if len(j.Verdict.Refusals) != 1 || c.hasMoved(j) {
		t.Errorf("the Work has not changed: %v", j.Verdict.Refusals)
	}
	j.Facts.Works["m1"] = state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1", foreign, sample.Version("6")))
	if !c.hasMoved(j) {
		t.Error("the Work has changed, but the source is not synced again")
	}
}

// TestSettles: a deletion that waits for others is retried after the settle period.
func TestSettles(t *testing.T) {
	s := newAPIServer(t)
	s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"))
	clock := newFakeClock()
	c := newControllerOf(t, s, configured("", "", ""), clock)
	c.breaker = write.NewBreaker(clock, time.Second)
	result, err := c.reconcile(t.Context(), sample.Page, write.Others)
	if err != nil || !result.settling || result.retry != time.Second || len(s.sent()) > 0 {
		t.Errorf("%+v, %v: %q", result, err, s.sent())
	}
}

// TestSelectedDeletionInFleet: of a fleet that reports all the time, only the clusters whose Works are due are
// read, at once, and the deletion is proved.
func TestSelectedDeletionInFleet(t *testing.T) {
	const fleet, due = 60, 30
	s := newAPIServer(t)
	source := sample.Object(sample.Annotations{render.ClusterSelectorAnnotation: "tier=edge"})
	var works, clusters []*unstructured.Unstructured
	var reads, inFlight, most atomic.Int64
	for i := range fleet {
		name, tier := fmt.Sprint("c", i), "edge"
		if i < due {
			tier = "core"
		}
		works = append(works, sample.Work(source, name))
		clusters = append(clusters, sample.Cluster(name, tier))
	}
	s.list(configMaps, source)
	s.list(render.WorksResource, works...)
	s.list(state.ClustersResource, clusters...)
	s.events = map[schema.GroupVersionResource]chan any{state.ClustersResource: make(chan any, 1)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/clusters/") {
			reads.Add(1)
			most.Store(max(most.Load(), inFlight.Add(1)))
			defer inFlight.Add(-1)
			time.Sleep(10 * time.Millisecond)
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	p, err := c.prove(t.Context(), sample.Page)
	if err != nil || len(p.Due) != due || reads.Load() != due || most.Load() < 2 {
		t.Fatalf("%d are due, after %d reads, %d at once: %v", len(p.Due), reads.Load(), most.Load(), err)
	}
	seen := func(tier, ready string) {
		u := sample.Cluster("c0", tier)
		u.SetResourceVersion("1001")
		u.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}}
		s.events[state.ClustersResource] <- map[string]any{"type": "MODIFIED", "object": u}
		isIn := func(context.Context) (bool, error) {
			return c.caches.Facts(sample.Page).Clusters["c0"].Away == (ready == "False"), nil
		}
		if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, isIn); err != nil {
			t.Fatal(err)
		}
	}
	if seen("core", "True"); !c.stillProves(p, "c0") {
		t.Error("a report of the cluster undoes the proof")
	}
	seen("edge", "False")
	if c.stillProves(p, "c0") || !c.stillProves(p, "c1") {
		t.Error("only the proof for the cluster that has the label again is undone")
	}
}
