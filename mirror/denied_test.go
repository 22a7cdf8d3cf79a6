package mirror

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestDenied: the same reason may mean that the configuration does not allow something, that
// the daemon lacks a right, or that a webhook protects a Work. Alerts tell these apart.
func TestDenied(t *testing.T) {
	const creation = "POST /apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works"
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
				s.answers[creation] = tc.answer
			}
			clock := newFakeClock()
			c := newControllerOf(t, s, tc.configuration, clock)
			for range 4 { // missing rights are reported after four attempts
				if _, err := c.reconcile(t.Context(), sample.Page, false); (err != nil) != (name == "Conflict") {
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
