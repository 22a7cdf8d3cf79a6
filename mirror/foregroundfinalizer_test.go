package mirror

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

// inForeground returns the page, which asks to be deleted in the foreground.
func inForeground(clusters string, changes ...sample.Change) *unstructured.Unstructured {
	u := sample.Object(sample.Annotations{render.ClustersAnnotation: clusters, render.DeletionAnnotation: "foreground"})
	u.SetResourceVersion("6")
	for _, change := range changes {
		change(u)
	}
	return u
}

func finalized(u *unstructured.Unstructured) {
	u.SetFinalizers([]string{"example.io/other", render.WorksFinalizer})
}

func deleted(u *unstructured.Unstructured) {
	u.SetDeletionTimestamp(&metav1.Time{Time: sample.Created})
}

// TestFinalizerWrites compares the writes of one sync, in order.
func TestFinalizerWrites(t *testing.T) {
	const (
		sets     = `finalizers ["karmada.target/works"] if it is 1 at 6`
		takesOff = `finalizers ["example.io/other"] if it is 1 at 6`
	)
	mayNot := apierrors.NewForbidden(configMaps.GroupResource(), "page", errors.New("no"))
	work := sample.Work(sample.Asking("1", "m1"), "m1")
	cases := map[string]struct {
		reason  string
		state   func(*apiServer)
		fence   string // of a new leader whose cache of Works is behind it
		want    []string
		noticed judge.Reason
		fails   bool
	}{
		"First": {reason: "no Work exists before the finalizer",
			state: func(s *apiServer) { s.list(configMaps, inForeground("m1")) },
			want:  []string{sets, "create m1"}},
		"Fails": {reason: "nor does one if it cannot be set for now",
			state: func(s *apiServer) {
				s.list(configMaps, inForeground("m1"))
				s.reply("PATCH "+pageAt, apierrors.NewInternalError(errors.New("boom")))
			},
			want: []string{sets}, fails: true},
		"MayNot": {reason: "without the right it is mirrored all the same, and that is said",
			state: func(s *apiServer) {
				s.list(configMaps, inForeground("m1"))
				s.reply("PATCH "+pageAt, mayNot)
			},
			want: []string{sets, "create m1"}, noticed: judge.NotAuthorized},
		"Another": {reason: "the object has been recreated",
			state: func(s *apiServer) {
				s.list(configMaps, inForeground("m1"))
				s.reply(pageAt, inForeground("m1", func(u *unstructured.Unstructured) { u.SetUID("2") }))
			},
		},
		"GoingNow": {reason: "it has just been deleted, so it gets none",
			state: func(s *apiServer) {
				s.list(configMaps, inForeground("m1"))
				s.reply(pageAt, inForeground("m1", deleted))
			}},
		"Removed": {reason: "it asks for it no longer",
			state: func(s *apiServer) {
				s.list(configMaps, inForeground("m1", finalized, func(u *unstructured.Unstructured) { sample.Annotate(u, render.DeletionAnnotation, "background") }))
				s.list(render.WorksResource, work)
			},
			want: []string{takesOff}},
		"Last": {reason: "its last Work is gone",
			state: func(s *apiServer) { s.list(configMaps, inForeground("m1", finalized, deleted)) },
			want:  []string{takesOff}},
		"NotYet": {reason: "the cache does not know of a Work that the last leader wrote", fence: "200",
			state: func(s *apiServer) {
				s.list(configMaps, inForeground("m1", finalized, deleted))
				s.list(render.WorksResource, work)
				s.answers["/apis/work.karmada.io/v1alpha1/works?ours"] = &unstructured.UnstructuredList{Object: map[string]any{
					"apiVersion": "work.karmada.io/v1alpha1", "kind": "List", "metadata": map[string]any{"resourceVersion": listVersion}}}
			}},
		"CannotRead": {reason: "nor can it be found out", fence: "200",
			state: func(s *apiServer) {
				s.list(configMaps, inForeground("m1", finalized, deleted))
				s.reply("/apis/work.karmada.io/v1alpha1/works", apierrors.NewInternalError(errors.New("boom")))
			},
			fails: true},
		"MayNotRemove": {reason: "a right was taken away",
			state: func(s *apiServer) {
				s.list(configMaps, inForeground("m1", finalized, deleted))
				s.reply("PATCH "+pageAt, mayNot)
			},
			want: []string{takesOff}, noticed: judge.NotAuthorized},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := newAPIServer(t)
			tc.state(server)
			c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
			if tc.fence != "" {
				c.fence.Store(&tc.fence)
			}
			if _, err := c.reconcile(t.Context(), sample.Page, write.Others); (err != nil) != tc.fails {
				t.Errorf("%s: got error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, server.writes); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
			if got := reasons(c.noticed.Of(sample.Page)); got != string(tc.noticed) {
				t.Errorf("%s: it is noticed for %q", tc.reason, got)
			}
		})
	}
}

func reasons(of []judge.Refusal) (text string) {
	for _, r := range of {
		text += string(r.Reason)
	}
	return text
}

// TestFinalizerIsContested lets another writer remove the finalizer each time: it is set less and
// less often, and the Works are as they should be.
func TestFinalizerIsContested(t *testing.T) {
	server, clock := newAPIServer(t), newFakeClock()
	server.list(configMaps, inForeground("m1"))
	server.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"))
	c := newControllerOf(t, server, configured("", "", ""), clock)
	for range 120 {
		if _, err := c.reconcile(t.Context(), sample.Page, write.Others); err != nil {
			t.Fatal(err)
		}
		clock.Step(time.Second)
	}
	if n := len(server.writes); n != 8 { // after 0, 1, 3, 7, 15, 31, 61 and 91 seconds
		t.Errorf("%d writes: %v", n, server.writes)
	}
}

// TestLingeringIsReportedLater: a deletion that takes some seconds is no news.
func TestLingeringIsReportedLater(t *testing.T) {
	server, clock := newAPIServer(t), newFakeClock()
	server.list(configMaps, inForeground("m1", finalized, deleted))
	server.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1", sample.Terminating))
	c := newControllerOf(t, server, configured("", "", ""), clock)
	for _, step := range []struct {
		after time.Duration
		want  judge.Reason
	}{{0, ""}, {lingerGrace - time.Second, ""}, {time.Second, judge.DeletionPending}} {
		clock.Step(step.after)
		result, err := c.reconcile(t.Context(), sample.Page, write.Others)
		if err != nil || result.retry == 0 {
			t.Fatal(result, err)
		}
		if got := reasons(c.noticed.Of(sample.Page)); got != string(step.want) {
			t.Errorf("after %s: noticed for %q", step.after, got)
		}
	}
}

// TestDeparture: what leaves the configuration loses our finalizer, and what comes back keeps it.
func TestDeparture(t *testing.T) {
	const without = `{"apiVersion": "mirror.karmada.target/v1alpha1", "kind": "MirrorConfiguration", "resources": [{"group": "example.io", "version": "v1", "resource": "widgets"}]}`
	cases := map[string]struct {
		reason  string
		objects []*unstructured.Unstructured
		now     []string
		want    []string
	}{
		"Resource":  {"the resource has left", []*unstructured.Unstructured{inForeground("m1", finalized)}, []string{without}, []string{`finalizers ["example.io/other"] if it is 1 at 6`}},
		"Namespace": {"its namespace has", []*unstructured.Unstructured{inForeground("m1", finalized)}, []string{configured(`"other"`, "", "")}, []string{`finalizers ["example.io/other"] if it is 1 at 6`}},
		"Stays":     {"nothing has", []*unstructured.Unstructured{inForeground("m1", finalized)}, []string{configured(`"shop"`, "", "")}, nil},
		"Back":      {"it is back before the daemon has got to it", []*unstructured.Unstructured{inForeground("m1", finalized)}, []string{without, configured("", "", "")}, nil},
		"Without":   {"it has no finalizer", []*unstructured.Unstructured{inForeground("m1")}, []string{without}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := newAPIServer(t)
			server.list(configMaps, tc.objects...)
			c := newControllerOf(t, server, configured("", "", ""), newFakeClock())
			for _, configuration := range tc.now {
				if err := c.Configure(config.Parts{config.Key: configuration}); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if _, err := c.reconcile(t.Context(), sample.Page, write.Others); err != nil {
					t.Fatal(err)
				}
			}
			writes := slices.DeleteFunc(server.writes, func(write string) bool { return !strings.HasPrefix(write, "finalizers") })
			if diff := cmp.Diff(tc.want, writes, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLateDeparture: what left the configuration before this replica led is only looked at.
func TestLateDeparture(t *testing.T) {
	forbidden, boom := apierrors.NewForbidden(configMaps.GroupResource(), sample.Page.Name, errors.New("no")), apierrors.NewInternalError(errors.New("boom"))
	for name, tc := range map[string]struct {
		answer any
		want   error
	}{
		"StillThere": {inForeground("m1", finalized), errLate},
		"MayNotLook": {forbidden, errLate},
		"WithoutIt":  {inForeground("m1"), nil},
		"Gone":       {apierrors.NewNotFound(configMaps.GroupResource(), sample.Page.Name), nil},
		"ASuccessor": {inForeground("m1", finalized, func(u *unstructured.Unstructured) { u.SetUID("another") }), nil},
		"Fails":      {boom, boom},
	} {
		t.Run(name, func(t *testing.T) {
			s, clock := newAPIServer(t), newFakeClock()
			c := newControllerOf(t, s, configured("", "", ""), clock)
			s.reply(pageAt, tc.answer)
			err := c.finalizers.leave(t.Context(), sample.Page, &memory.Departure{Resource: configMaps, UID: inForeground("m1").GetUID(), At: clock.Now().Add(time.Hour), IsLate: true})
			if (err == nil) != (tc.want == nil) || tc.want == errLate && !errors.Is(err, errLate) || len(s.sent()) > 0 {
				t.Errorf("%v, and it sends %q", err, s.sent())
			}
		})
	}
}
