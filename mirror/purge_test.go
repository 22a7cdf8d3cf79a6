package mirror

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/config"
)

func parsed(t *testing.T, namespaces string) *config.Configuration {
	t.Helper()
	c, err := config.Parse([]byte(configured(namespaces, "", "")))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPurgeTakes(t *testing.T) {
	asks := pageSource("1", "m1")
	other := []*config.Configuration{parsed(t, `"other"`)}
	cases := map[string]struct {
		reason         string
		work           *Work
		configurations []*config.Configuration
		want           bool
	}{
		"LeftOut":    {"no daemon has its namespace", pageWork(asks, "m1"), other, true},
		"Configured": {"a second daemon has it", pageWork(asks, "m1"), append(other, parsed(t, `"shop"`)), false},
		"Everywhere": {"or has all", pageWork(asks, "m1"), []*config.Configuration{parsed(t, "")}, false},
		"Bound":      {"it is a binding's", pageWork(asks, "m1", bound), other, false},
		"Unlabelled": {"somebody has taken our label off, to keep it", pageWork(asks, "m1", relabelled), other, false},
		"Going":      {"it is going already", pageWork(asks, "m1", terminating), other, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &Purge{Resource: configMaps.GroupResource(), Kind: page.GroupKind(), Configurations: tc.configurations}
			if got := p.takes(tc.work); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}

// TestPurgeDeletes: what has changed since it was listed is looked at once more.
func TestPurgeDeletes(t *testing.T) {
	const works = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works/"
	asks := pageSource("1", "m1")
	listed := pageWork(asks, "m1")
	another := func(u *unstructured.Unstructured) { u.SetUID("another") }
	first := "delete m1 if it is work-uid at 7"
	cases := map[string]struct {
		reason string
		now    *unstructured.Unstructured
		want   []string
	}{
		"Status":  {"its status has changed", pageWorkObject(asks, "m1", version("9")), []string{first, "delete m1 if it is work-uid at 9"}},
		"Another": {"it was made again since", pageWorkObject(asks, "m1", another, version("9")), []string{first}},
		"Bound":   {"a binding has taken it since", pageWorkObject(asks, "m1", bound, version("9")), []string{first}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.answers["DELETE "+works+listed.Name] = apierrors.NewConflict(worksGR, listed.Name, errors.New("it has changed"))
			s.answers["GET "+works+listed.Name] = tc.now
			p := &Purge{Resource: configMaps.GroupResource(), Kind: page.GroupKind(), Configurations: []*config.Configuration{parsed(t, `"other"`)}}
			if err := p.Connect(&rest.Config{Host: s.URL, QPS: -1}); err != nil {
				t.Fatal(err)
			}
			if deleted, _ := p.Delete(t.Context(), listed); deleted {
				t.Error("deleted, against the API server's answer")
			}
			if diff := cmp.Diff(tc.want, s.sent()); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
