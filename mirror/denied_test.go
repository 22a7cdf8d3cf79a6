package mirror

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/render"
)

const creation = "POST /apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works"

// TestDenied: the same reason may mean that the configuration does not allow something, that
// the daemon lacks a right, or that a webhook protects a Work. Alerts tell these apart.
func TestDenied(t *testing.T) {
	forbidden := apierrors.NewForbidden(render.WorksResource.GroupResource(), "page", nil)
	allowing := func(rules string) string {
		return strings.Replace(configured("", "", ""), "{", `{"authorization": [`+rules+`], `, 1)
	}
	protected := apierrors.NewForbidden(render.WorksResource.GroupResource(), "page", nil)
	protected.ErrStatus.Message = `admission webhook "protection.example.io" denied the request: no`
	notAuthorized, none := map[string]int{"NotAuthorized": 1}, map[string]int{}
	byAuthorization := map[string]int{"authorization": 1}
	cases := map[string]struct {
		reason          string
		configuration   string
		answer          any
		refused, denied map[string]int
	}{
		"NoRule":   {"nothing is sent", allowing(""), nil, notAuthorized, none},
		"NoRights": {"the daemon's rights are gone", configured("", "", ""), forbidden, notAuthorized, byAuthorization},
		"Both":     {"of two clusters, one is not allowed", allowing(`{"clusters": ["m1"]}`), forbidden, notAuthorized, byAuthorization},
		"Conflict": {"it is retried at once", configured("", "", ""), apierrors.NewConflict(render.WorksResource.GroupResource(), "page", nil), none, none},
		"Denied":   {"a webhook does not like the object", configured("", "", ""), protected, map[string]int{"RenderFailed": 1}, map[string]int{"admission": 1}},
		"TooLarge": {"the object is at fault", configured("", "", ""), apierrors.NewRequestEntityTooLargeError("no"), map[string]int{"TooLarge": 1}, map[string]int{"size": 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.list(configMaps, sample.Asking("1", "m1,m2"))
			if tc.answer != nil {
				s.reply(creation, tc.answer)
			}
			clock := newFakeClock()
			c := newControllerOf(t, s, tc.configuration, clock)
			for range 4 { // missing rights are reported after four attempts
				if _, err := c.reconcile(t.Context(), sample.Page, write.Others); (err != nil) != (name == "Conflict") {
					t.Fatal(err)
				}
				clock.Step(time.Minute)
			}
			got := c.snapshot()
			if diff := cmp.Diff([]map[string]int{tc.refused, tc.denied}, []map[string]int{got.Refused, got.Denied}); diff != "" {
				t.Errorf("%s: refused and denied, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFailing: however many syncs have nothing to write, a source whose writes fail counts, since its
// first failure, until it has succeeded or is gone. The memory of it goes with it.
func TestFailing(t *testing.T) {
	unreachable := apierrors.NewInternalError(errors.New("failed calling webhook"))
	cases := map[string]struct {
		reason string
		ends   func(*apiServer, *Controller)
	}{
		"Succeeds": {"the webhook answers again", func(s *apiServer, _ *Controller) { s.reply(creation, nil) }},
		"Leaves": {"no Work is wanted any more", func(_ *apiServer, c *Controller) {
			if err := c.Configure(config.Parts{config.Key: configured(`"other"`, "", "")}); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.list(configMaps, sample.Asking("1", "m1"))
			s.reply(creation, unreachable)
			c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
			q := leading(t, c)
			syncs := func(sources ...render.Identity) {
				for _, id := range sources {
					q.Add(id)
				}
				for q.Len() > 0 {
					c.processNext(t.Context(), q)
				}
			}
			before := time.Now()
			syncs(sample.Page)
			syncs(sample.Numbered(1), sample.Numbered(2), sample.Numbered(3)) // a Work of theirs reports a status
			got := c.snapshot().Failing["mirror"]
			if got.Sources != 1 || got.Since.Before(before) || time.Since(got.Since) < 0 {
				t.Errorf("%d sources fail since %s", got.Sources, got.Since)
			}
			syncs(sample.Page)
			if again := c.snapshot().Failing["mirror"]; again != got {
				t.Errorf("another failure changes %v into %v", got, again)
			}
			tc.ends(s, c)
			syncs(sample.Page)
			if left := c.snapshot().Failing["mirror"]; left != (metrics.Failing{}) {
				t.Errorf("%s: it still counts: %v", tc.reason, left)
			}
		})
	}
}
