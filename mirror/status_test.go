package mirror

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/render/aggregate"
)

// aggregating is a configuration that aggregates the statuses of widgets.
const aggregating = `{"apiVersion": "mirror.karmada.target/v1alpha1", "kind": "MirrorConfiguration",
	"resources": [{"resource": "configmaps"}, {"group": "example.io", "version": "v1", "resource": "widgets", "aggregateStatus": true}]}`

const (
	gadgetAt       = "/apis/example.io/v1/namespaces/shop/widgets/gadget"
	gadgetStatusAt = gadgetAt + "/status"
)

// reporting makes a Work one that Karmada has applied, and that reports a phase.
func reporting(phase string) sample.Change {
	return func(u *unstructured.Unstructured) {
		u.SetCreationTimestamp(metav1.NewTime(sample.Created)) // with the source
		u.Object["status"] = map[string]any{
			"conditions":       []any{map[string]any{"type": render.AppliedCondition, "status": "True"}},
			"manifestStatuses": []any{map[string]any{"status": map[string]any{"phase": phase}}},
		}
	}
}

func withPhase(u *unstructured.Unstructured, phase string) *unstructured.Unstructured {
	u.Object["status"] = map[string]any{"phase": phase}
	return u
}

// TestStatus looks at the status of one source, with Works that report something, and compares the
// writes that the server receives.
func TestStatus(t *testing.T) {
	work := sample.Work(gadgetObject("m1"), "m1", reporting("Ready"))
	isReady := []string{`status {"phase":"Ready"} if it is 1`}
	cases := map[string]struct {
		reason        string
		configuration string // empty: aggregating
		state         func(*apiServer)
		want          []string
		retry         time.Duration
		fails         bool
	}{
		"Reported": {reason: "a source gets what its member reports",
			state: func(s *apiServer) { s.list(widgets, gadgetObject("m1")); s.list(render.WorksResource, work) },
			want:  isReady},
		"AsItIs": {reason: "a status that is as it should be is not written",
			state: func(s *apiServer) {
				s.list(widgets, withPhase(gadgetObject("m1"), "Ready"))
				s.list(render.WorksResource, work)
			}},
		"Changed": {reason: "only what differs is written",
			state: func(s *apiServer) {
				s.list(widgets, withPhase(gadgetObject("m1"), "Pending"))
				s.list(render.WorksResource, work)
			},
			want: isReady},
		"NothingReported": {reason: "a Work that reports nothing leaves the status alone",
			state: func(s *apiServer) {
				s.list(widgets, withPhase(gadgetObject("m1"), "Pending"))
				s.list(render.WorksResource, sample.Work(gadgetObject("m1"), "m1"))
			}},
		"NoWork": {reason: "so does a source without Works",
			state: func(s *apiServer) { s.list(widgets, withPhase(gadgetObject("m1"), "Pending")) }},
		"NotConfigured": {reason: "the resource does not ask for it", configuration: configured("", "v1", ""),
			state: func(s *apiServer) { s.list(widgets, gadgetObject("m1")); s.list(render.WorksResource, work) }},
		"Claimed": {reason: "Karmada writes the status of what a policy propagates",
			state: func(s *apiServer) {
				u := gadgetObject("m1")
				u.SetLabels(map[string]string{"propagationpolicy.karmada.io/permanent-id": "x"})
				s.list(widgets, u)
				s.list(render.WorksResource, work)
			}},
		"NoLongerAsks": {reason: "what is being removed says nothing about the source",
			state: func(s *apiServer) {
				u := gadgetObject("m1")
				u.SetAnnotations(nil)
				s.list(widgets, u)
				s.list(render.WorksResource, work)
			}},
		"MissingCluster": {reason: "a cluster that has not joined does not count",
			state: func(s *apiServer) { s.list(widgets, gadgetObject("m1,m9")); s.list(render.WorksResource, work) },
			want:  isReady},
		"TwoTargets": {reason: "no rule sums up two members of an unknown kind",
			state: func(s *apiServer) {
				s.list(widgets, gadgetObject("m1,m2"))
				s.list(render.WorksResource, work, sample.Work(gadgetObject("m1,m2"), "m2", reporting("Ready")))
			}},
		"Recreated": {reason: "the object of another UID is left to its event",
			state: func(s *apiServer) {
				s.list(widgets, gadgetObject("m1"))
				s.list(render.WorksResource, work)
				s.reply("PATCH "+gadgetStatusAt, apierrors.NewConflict(widgets.GroupResource(), "gadget", errors.New("another UID")))
			},
			want: isReady},
		"Gone": {reason: "so is one that no longer exists",
			state: func(s *apiServer) {
				s.list(widgets, gadgetObject("m1"))
				s.list(render.WorksResource, work)
				s.reply("PATCH "+gadgetStatusAt, apierrors.NewNotFound(widgets.GroupResource(), "gadget"))
				s.reply(gadgetAt, apierrors.NewNotFound(widgets.GroupResource(), "gadget"))
			},
			want: isReady},
		"MayNot": {reason: "a missing right is retried later",
			state: func(s *apiServer) {
				s.list(widgets, gadgetObject("m1"))
				s.list(render.WorksResource, work)
				s.reply("PATCH "+gadgetStatusAt, apierrors.NewForbidden(widgets.GroupResource(), "gadget", errors.New("no")))
			},
			want: isReady, retry: denialPeriod},
		"NoSubresource": {reason: "and so is a kind without a status",
			state: func(s *apiServer) {
				s.list(widgets, gadgetObject("m1"))
				s.list(render.WorksResource, work)
				s.reply("PATCH "+gadgetStatusAt, apierrors.NewGenericServerResponse(404, "PATCH", schema.GroupResource{}, "", "", 0, true))
			},
			want: isReady, retry: denialPeriod},
		"NoSubresourceOfCustom": {reason: "the API server answers for a custom resource as if the object were gone",
			state: func(s *apiServer) {
				s.list(widgets, gadgetObject("m1"))
				s.list(render.WorksResource, work)
				s.reply("PATCH "+gadgetStatusAt, apierrors.NewNotFound(widgets.GroupResource(), "gadget"))
			},
			want: isReady, retry: denialPeriod},
		"DeniedByWebhook": {reason: "a webhook that denies one object is no missing right",
			state: func(s *apiServer) {
				s.list(widgets, gadgetObject("m1"))
				s.list(render.WorksResource, work)
				denied := apierrors.NewForbidden(widgets.GroupResource(), "gadget", nil)
				denied.ErrStatus.Message = `admission webhook "x.example.io" denied the request: no`
				s.reply("PATCH "+gadgetStatusAt, denied)
			},
			want: isReady, fails: true},
		"RecreatedBefore": {reason: "the Work is still that of an earlier object of that name",
			state: func(s *apiServer) {
				u := gadgetObject("m1")
				u.SetUID("2")
				s.list(widgets, u)
				s.list(render.WorksResource, work)
			}},
		"Fails": {reason: "other errors are retried",
			state: func(s *apiServer) {
				s.list(widgets, gadgetObject("m1"))
				s.list(render.WorksResource, work)
				s.reply("PATCH "+gadgetStatusAt, apierrors.NewInternalError(errors.New("boom")))
			},
			want: isReady, fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := newAPIServer(t)
			tc.state(server)
			configuration := tc.configuration
			if configuration == "" {
				configuration = aggregating
			}
			s := newStatuses(newControllerOf(t, server, configuration, newFakeClock()))
			retry, err := s.sync(t.Context(), gadget)
			if (err != nil) != tc.fails || retry != tc.retry {
				t.Errorf("%s: got retry %s and error %v", tc.reason, retry, err)
			}
			if diff := cmp.Diff(tc.want, server.writes); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStatusIsReadWhereItWasNotKept opts in a resource whose objects and Works are cached already:
// what they say of statuses is read once.
func TestStatusIsReadWhereItWasNotKept(t *testing.T) {
	server := newAPIServer(t)
	server.list(widgets, gadgetObject("m1"))
	server.list(render.WorksResource, sample.Work(gadgetObject("m1"), "m1", reporting("Ready")))
	c := newControllerOf(t, server, configured("", "v1", ""), newFakeClock())
	if err := c.Configure(config.Parts{config.Key: aggregating}); err != nil {
		t.Fatal(err)
	}
	reads := 0
	server.asked[gadgetAt] = func() { reads++ }
	s := newStatuses(c)
	for range 2 {
		if _, err := s.sync(t.Context(), gadget); err != nil {
			t.Fatal(err)
		}
		s.memory.ForgetStatuses()
	}
	want := []string{`status {"phase":"Ready"} if it is 1`, `status {"phase":"Ready"} if it is 1`}
	if diff := cmp.Diff(want, server.writes); diff != "" || reads != 1 {
		t.Errorf("the source was read %d times; writes, -want +got:\n%s", reads, diff)
	}
}

// TestDeniedStatuses: a resource whose statuses may not be written is not tried with each event.
func TestDeniedStatuses(t *testing.T) {
	server, clock := newAPIServer(t), newFakeClock()
	server.list(widgets, gadgetObject("m1"))
	server.list(render.WorksResource, sample.Work(gadgetObject("m1"), "m1", reporting("Ready")))
	server.answers["PATCH "+gadgetStatusAt] = apierrors.NewForbidden(widgets.GroupResource(), "gadget", errors.New("no"))
	s := newStatuses(newControllerOf(t, server, aggregating, clock))
	for range 10 { // events
		if retry, err := s.sync(t.Context(), gadget); err != nil || retry <= 0 {
			t.Fatal(retry, err)
		}
	}
	clock.Step(denialPeriod)
	if _, err := s.sync(t.Context(), gadget); err != nil || len(server.writes) != 2 {
		t.Errorf("%v, %v", server.writes, err)
	}
}

// TestStatusThatIsNotStored: the API server does not keep all of what the member reports. It is tried
// once for each version, never counts as contested, and the next change is written.
func TestStatusThatIsNotStored(t *testing.T) {
	server, clock := newAPIServer(t), newFakeClock()
	server.list(widgets, withPhase(gadgetObject("m1"), "Ready"))
	server.list(render.WorksResource, sample.Work(gadgetObject("m1"), "m1", reporting("Ready"), func(u *unstructured.Unstructured) {
		u.Object["status"].(map[string]any)["manifestStatuses"] = []any{map[string]any{"status": map[string]any{"phase": "Ready", "unknown": "x"}}}
	}))
	server.answers["PATCH "+gadgetStatusAt] = written("6") // as before
	s := newStatuses(newControllerOf(t, server, aggregating, clock))
	for range 10 {
		if _, err := s.sync(t.Context(), gadget); err != nil {
			t.Fatal(err)
		}
		clock.Step(2 * time.Second)
	}
	if len(server.writes) != 1 || len(s.contested.All()) != 0 {
		t.Errorf("%d writes, contested: %v", len(server.writes), s.contested.All())
	}
	if turn := s.memory.StatusTurn(&state.SourceStatus{ID: gadget, UID: "1", Version: "6"}, `{"phase":"Failed"}`, aggregate.Complete); turn != (memory.Turn{}) {
		t.Errorf("the next change waits: %+v", turn)
	}
}

// TestContestedStatus lets another writer undo each write: after five there is peace, and an Event.
func TestContestedStatus(t *testing.T) {
	server := newAPIServer(t)
	server.list(widgets, gadgetObject("m1"))
	server.list(render.WorksResource, sample.Work(gadgetObject("m1"), "m1", reporting("Ready")))
	clock := newFakeClock()
	c := newControllerOf(t, server, aggregating, clock)
	s := newStatuses(c)
	answer := withPhase(gadgetObject("m1"), "Ready")
	answer.SetResourceVersion("1") // the cache is newer: another writer has undone it
	server.answers["PATCH "+gadgetStatusAt] = answer
	for range 10 {
		if _, err := s.sync(t.Context(), gadget); err != nil {
			t.Fatal(err)
		}
		clock.Step(2 * time.Second)
	}
	if len(server.writes) != 5 {
		t.Errorf("%d writes: %v", len(server.writes), server.writes)
	}
	if n := len(s.contested.All()); n != 1 {
		t.Errorf("%d sources are reported as contested", n)
	}
	clock.Step(2 * time.Hour)
	if _, err := s.sync(t.Context(), gadget); err != nil || len(server.writes) != 6 {
		t.Errorf("after the truce: %v, %v", server.writes, err)
	}
	if n := len(s.contested.All()); n != 0 {
		t.Errorf("%d sources are still reported as contested", n)
	}
}

// aMinute writes the status of a source for a minute, whenever it is its turn. Then store gets what is written, stores it,
// and returns what the API server keeps of it.
func aMinute(t *testing.T, source *unstructured.Unstructured, member func(second int) aggregate.Member, store func(status map[string]any) map[string]any) (writes int, contested bool) {
	t.Helper()
	clock := newFakeClock()
	remembered := memory.New(clock)
	for second := range 60 {
		known := state.NewSourceStatus(source)
		status, err := aggregate.Status(source, []aggregate.Member{member(second)}, clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		content, patch, err := patchOf(known, status)
		if err != nil || patch == nil {
			t.Fatal(err, patch)
		}
		progress := aggregate.ProgressOf(known.ID.GroupKind(), known.Generation, status)
		switch turn := remembered.StatusTurn(known, content, progress); {
		case turn.Contested:
			contested = true
		case turn == (memory.Turn{}):
			writes++
			source.SetResourceVersion(fmt.Sprint(2 * writes))
			version := source.GetResourceVersion()
			answer := &unstructured.Unstructured{Object: map[string]any{"status": store(status)}}
			remembered.WroteStatus(known, content, version, state.NewSourceStatus(answer).Status, progress)
		}
		clock.Step(time.Second)
	}
	return writes, contested
}

// TestContestedConditions: what is written to a Deployment has the times of its conditions, so it is never
// the same twice. It counts as contested all the same.
func TestContestedConditions(t *testing.T) {
	source := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": "shop", "name": "web", "uid": "1", "generation": int64(3), "resourceVersion": "1"},
		"spec":     map[string]any{"replicas": int64(1)},
		"status": map[string]any{"observedGeneration": int64(3), "replicas": int64(1), "unavailableReplicas": int64(1),
			"conditions": []any{map[string]any{"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable"}}},
	}}
	member := aggregate.Member{Cluster: "m1", Generation: 3, Settled: true,
		Status: []byte(`{"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"generation":7,"observedGeneration":7,"resourceTemplateGeneration":3}`)}
	writes, contested := aMinute(t, source, func(int) aggregate.Member { return member }, func(status map[string]any) map[string]any {
		ours, err := strconv.Atoi(source.GetResourceVersion())
		if err != nil {
			t.Fatal(err)
		}
		source.SetResourceVersion(strconv.Itoa(ours + 1)) // another writer undoes it at once
		return status
	})
	if !contested || writes != 5 {
		t.Errorf("%d writes in a minute, contested: %v", writes, contested)
	}
}

// TestTimeGoesOn: the controller of a custom resource renews the time of a condition, and no one contests it, even if
// the control plane does not keep all of the status: no null, and no field that its definition does not have.
func TestTimeGoesOn(t *testing.T) {
	for _, dropped := range []string{"", `"failures":null,`, `"newerField":"x",`} {
		source := gadgetObject("m1")
		writes, contested := aMinute(t, source, func(second int) aggregate.Member {
			return aggregate.Member{Cluster: "m1", Settled: true, Status: fmt.Appendf(nil,
				`{%s"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-02T03:04:%02dZ"}]}`, dropped, second)}
		}, func(status map[string]any) map[string]any {
			delete(status, "failures")
			delete(status, "newerField")
			source.Object["status"] = status
			return status
		})
		if contested || writes < 30 {
			t.Errorf("%s %d writes in a minute, contested: %v", dropped, writes, contested)
		}
	}
}

// TestContestIsForgotten: what was contested may be settled by a new configuration.
func TestContestIsForgotten(t *testing.T) {
	c := newControllerOf(t, newAPIServer(t), aggregating, newFakeClock())
	s := newStatuses(c)
	c.statuses.Store(s)
	s.contested.Replace(gadget, []judge.Refusal{{Reason: judge.StatusContested}})
	if err := c.Configure(config.Parts{config.Key: configured("", "v1", "")}); err != nil {
		t.Fatal(err)
	}
	if n := len(s.contested.All()); n != 0 {
		t.Errorf("%d sources are still reported as contested", n)
	}
}

// TestEndedJobsAreNotCounted: a namespace full of Jobs that have ended must not make a mass
// deletion of those that run a small part of all.
func TestEndedJobsAreNotCounted(t *testing.T) {
	job := func(name, status string) *unstructured.Unstructured {
		u := gadgetObject("m1")
		u.SetAPIVersion("batch/v1")
		u.SetKind("Job")
		u.SetName(name)
		return sample.Work(u, "m1", func(w *unstructured.Unstructured) {
			w.Object["status"] = map[string]any{"manifestStatuses": []any{map[string]any{"status": map[string]any{
				"conditions": []any{map[string]any{"type": "Complete", "status": status}},
			}}}}
		})
	}
	server := newAPIServer(t)
	server.list(render.WorksResource, job("ended", "True"), job("running", "False"))
	c := newControllerOf(t, server, strings.Replace(aggregating, `{"resource": "configmaps"`, `{"group": "batch", "resource": "jobs"`, 1), newFakeClock())
	if n := c.caches.CountWorks(schema.GroupKind{Group: "batch", Kind: "Job"})["shop"]; n != 1 {
		t.Errorf("%d Works count", n)
	}
}

// TestAdoptedIsLookedAtAgain: what a Work reports that was adopted from an earlier object is believed five minutes
// after it was written. There is no event then: Karmada does not report again, which is the very reason. So
// the look that would believe it must be scheduled, but it waits for a sweep, of which there is none at all
// with --resync-period=0.
// Once it is believed, a later write of the Work or a suspension does not change that.
func TestAdoptedIsLookedAtAgain(t *testing.T) {
	server, clock := newAPIServer(t), newFakeClock()
	server.events = map[schema.GroupVersionResource]chan any{render.WorksResource: make(chan any)}
	server.list(widgets, gadgetObject("m1"))
	server.list(state.ClustersResource, readyCluster("m1", sample.Created.Add(-time.Hour)))
	work := sample.Work(gadgetObject("m1"), "m1", reporting("Ready"), func(u *unstructured.Unstructured) {
		u.SetCreationTimestamp(metav1.NewTime(sample.Created.Add(-time.Hour)))
		u.SetManagedFields([]metav1.ManagedFieldsEntry{
			{Manager: "karmada-mirror", Time: new(metav1.NewTime(sample.Created))},
			{Manager: "karmada", Subresource: "status", Time: new(metav1.NewTime(sample.Created.Add(-time.Minute)))},
		})
	})
	server.list(render.WorksResource, work)
	s := newStatuses(newControllerOf(t, server, aggregating, clock))
	retry, err := s.sync(t.Context(), gadget)
	if err != nil || len(server.writes) > 0 {
		t.Fatal(err, server.writes)
	}
	if retry <= 0 {
		t.Errorf("no look is scheduled: retry %s", retry)
	}
	clock.Step(6 * time.Minute)
	if _, err := s.sync(t.Context(), gadget); err != nil || !slices.Equal(server.writes, []string{`status {"phase":"Ready"} if it is 1`}) {
		t.Errorf("a look would have: %v, %q", err, server.writes)
	}
	touched := work.DeepCopy()
	touched.SetResourceVersion("8")
	touched.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "karmada-mirror", Time: new(metav1.NewTime(clock.Now()))}})
	touched.Object["spec"].(map[string]any)["suspendDispatching"] = true
	server.events[render.WorksResource] <- map[string]any{"type": "MODIFIED", "object": touched}
	eventually(t, "the suspension", func() bool { return s.caches.Facts(gadget).Works["m1"].State == state.WorkSuspended })
	clock.Step(memory.AwaitCache)
	if _, err := s.sync(t.Context(), gadget); err != nil || len(server.writes) != 2 {
		t.Errorf("after another write of the Work: %v, %q", err, server.writes)
	}
}

// TestAdoptedAway: a source is recreated while its member is away. There is a look at its status when that returns.
func TestAdoptedAway(t *testing.T) {
	server, clock := newAPIServer(t), newFakeClock()
	server.events = map[schema.GroupVersionResource]chan any{state.ClustersResource: make(chan any)}
	server.list(widgets, gadgetObject("m1"))
	away := readyCluster("m1", sample.Created.Add(-time.Hour))
	away.Object["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)["status"] = "False"
	server.list(state.ClustersResource, away)
	server.list(render.WorksResource, sample.Work(gadgetObject("m1"), "m1", reporting("Ready"), func(u *unstructured.Unstructured) {
		u.SetCreationTimestamp(metav1.NewTime(sample.Created.Add(-time.Hour)))
		u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "karmada-mirror", Time: new(metav1.NewTime(sample.Created))}})
	}))
	c := newControllerOf(t, server, aggregating, clock)
	s := newStatuses(c)
	c.statuses.Store(s)
	clock.Step(6 * time.Minute)
	if _, err := s.sync(t.Context(), gadget); err != nil || len(server.writes) > 0 {
		t.Fatal(err, server.writes)
	}
	back := readyCluster("m1", sample.Created.Add(-time.Hour))
	back.SetResourceVersion("101")
	server.events[state.ClustersResource] <- map[string]any{"type": "MODIFIED", "object": back}
	eventually(t, "a look at the status", func() bool { return s.queue.Len() > 0 })
	if !s.processNext(t.Context()) || len(server.writes) != 1 {
		t.Errorf("the look writes %q", server.writes)
	}
}

// TestStatusOfRecreated: an object is deleted and recreated while its status is written. The answer to the
// write is a 404, the object that is then found is another one, and all statuses of the resource wait, while
// an Event says that the kind has no status.
func TestStatusOfRecreated(t *testing.T) {
	server := newAPIServer(t)
	server.list(widgets, gadgetObject("m1"))
	server.list(render.WorksResource, sample.Work(gadgetObject("m1"), "m1", reporting("Ready")))
	server.answers["PATCH "+gadgetStatusAt] = apierrors.NewNotFound(widgets.GroupResource(), "gadget")
	next := gadgetObject("m1")
	next.SetUID("2")
	server.answers[gadgetAt] = next
	s := newStatuses(newControllerOf(t, server, aggregating, newFakeClock()))
	retry, err := s.sync(t.Context(), gadget)
	if wait, _ := s.denied.Wait(place{widgets.GroupResource(), ""}, gadget); err != nil || retry != 0 || wait > 0 {
		t.Errorf("retry in %s, %v: all statuses of the resource wait", retry, err)
	}
}

// TestKindGetsAStatus: from then on nothing fails.
func TestKindGetsAStatus(t *testing.T) {
	server, clock := newAPIServer(t), newFakeClock()
	server.list(widgets, gadgetObject("m1"))
	server.list(render.WorksResource, sample.Work(gadgetObject("m1"), "m1", reporting("Ready")))
	server.answers["PATCH "+gadgetStatusAt] = apierrors.NewNotFound(widgets.GroupResource(), "gadget")
	c := newControllerOf(t, server, aggregating, clock)
	s := newStatuses(c)
	c.statuses.Store(s)
	for _, want := range []int{1, 0} {
		if _, err := s.sync(t.Context(), gadget); err != nil {
			t.Fatal(err)
		}
		if got := c.snapshot().Failing["status"]; got.Sources != want {
			t.Errorf("%+v, not %d", got, want)
		}
		clock.Step(denialPeriod)
		server.mu.Lock()
		delete(server.answers, "PATCH "+gadgetStatusAt)
		server.mu.Unlock()
	}
}

// TestDeniedStatusesEnd: sources count as failing for as long as they come back to a status that may not be written, and no
// longer, whatever has ended that.
func TestDeniedStatusesEnd(t *testing.T) {
	server, clock := newAPIServer(t), newFakeClock()
	server.list(widgets, gadgetObject("m1"))
	server.list(render.WorksResource, sample.Work(gadgetObject("m1"), "m1", reporting("Ready")))
	server.answers["PATCH "+gadgetStatusAt] = apierrors.NewNotFound(widgets.GroupResource(), "gadget") // its kind has no status
	c := newControllerOf(t, server, aggregating, clock)
	s, began := newStatuses(c), clock.Now()
	c.statuses.Store(s)
	wants := func(when string, want metrics.Failing) {
		t.Helper()
		for range 100 {
			if _, err := s.sync(t.Context(), gadget); err != nil {
				t.Fatal(err)
			}
			clock.Step(denialPeriod)
		}
		if got := c.snapshot().Failing["status"]; got != want {
			t.Errorf("%s: %+v, not %+v", when, got, want)
		}
	}
	wants("for an hour", metrics.Failing{Sources: 1, Since: began})
	if err := c.Configure(config.Parts{config.Key: configured("", "v1", "")}); err != nil { // without aggregateStatus
		t.Fatal(err)
	}
	wants("an hour after the advice was followed", metrics.Failing{})
}
