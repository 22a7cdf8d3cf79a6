package purge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

var configMaps = schema.GroupResource{Resource: "configmaps"}

func parsed(t *testing.T, namespaces string) *config.Configuration {
	t.Helper()
	c, err := config.Parse(fmt.Appendf(nil, `{"apiVersion": "mirror.karmada.target/v1alpha1", "kind": "MirrorConfiguration",
		"resources": [{"resource": "configmaps", "namespaces": [%s]}]}`, namespaces))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTakes(t *testing.T) {
	asks := sample.Asking("1", "m1")
	other := []*config.Configuration{parsed(t, `"other"`)}
	cases := map[string]struct {
		reason         string
		work           *state.Work
		configurations []*config.Configuration
		want           bool
	}{
		"LeftOut":    {"its namespace is in no configuration", state.NewWork(sample.Work(asks, "m1")), other, true},
		"Configured": {"it is in a second daemon's configuration", state.NewWork(sample.Work(asks, "m1")), append(other, parsed(t, `"shop"`)), false},
		"Everywhere": {"or that one has all namespaces", state.NewWork(sample.Work(asks, "m1")), []*config.Configuration{parsed(t, "")}, false},
		"Bound":      {"it belongs to a binding", state.NewWork(sample.Work(asks, "m1", sample.Bound)), other, false},
		"Unlabelled": {"a user has removed our label, to keep it", state.NewWork(sample.Work(asks, "m1", sample.Relabelled)), other, false},
		"Going":      {"it is being deleted already", state.NewWork(sample.Work(asks, "m1", sample.Terminating)), other, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := &Leftovers{Resource: configMaps, Kind: sample.Page.GroupKind(), Configurations: tc.configurations}
			if got := l.takes(tc.work); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}

// apiServer has one Work, which has changed since it was listed.
type apiServer struct {
	now  *unstructured.Unstructured
	sent []string
}

// ServeHTTP implements http.Handler.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var answer any = s.now
	if strings.HasSuffix(r.URL.Path, sample.Page.LongWorkName()) {
		answer = sample.Work(sample.Asking("1", "m1"), "m1", sample.Long, sample.Unfinalized, sample.Version("8"))
	}
	if r.Method == http.MethodPatch {
		s.sent = append(s.sent, "patch it")
	}
	if r.Method == http.MethodDelete {
		var o metav1.DeleteOptions
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			panic(err) // ours
		}
		s.sent = append(s.sent, fmt.Sprintf("delete it if it is %s at %s", *o.Preconditions.UID, *o.Preconditions.ResourceVersion))
		conflict := apierrors.NewConflict(render.WorksResource.GroupResource(), s.now.GetName(), errors.New("it has changed")).ErrStatus
		conflict.APIVersion, conflict.Kind = "v1", "Status"
		w.WriteHeader(http.StatusConflict)
		answer = conflict
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err) // a mistake in the test
	}
}

// TestDelete: a Work that has changed since it was listed is read again.
func TestDelete(t *testing.T) {
	asks := sample.Asking("1", "m1")
	listed, long := sample.Work(asks, "m1"), sample.Work(asks, "m1", sample.Long)
	another := func(u *unstructured.Unstructured) { u.SetUID("another") }
	first := "delete it if it is work-uid at 7"
	cases := map[string]struct {
		reason      string
		listed, now *unstructured.Unstructured
		want        []string
	}{
		"Shared":  {"a binding's Work carries the same object, which Karmada must not delete", long, sample.Work(asks, "m1", sample.Bound), []string{"patch it", "delete it if it is work-uid at 8"}},
		"Both":    {"both Works are ours, and go", long, sample.Work(asks, "m1"), []string{first, "delete it if it is work-uid at 8"}},
		"Status":  {"its status has changed", listed, sample.Work(asks, "m1", sample.Version("9")), []string{first, "delete it if it is work-uid at 9"}},
		"Another": {"it was recreated since", listed, sample.Work(asks, "m1", another, sample.Version("9")), []string{first}},
		"Bound":   {"a binding has taken it over since", listed, sample.Work(asks, "m1", sample.Bound, sample.Version("9")), []string{first}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &apiServer{now: tc.now}
			server := httptest.NewServer(s)
			t.Cleanup(server.Close)
			l := &Leftovers{Resource: configMaps, Kind: sample.Page.GroupKind(), Configurations: []*config.Configuration{parsed(t, `"other"`)}}
			if err := l.Connect(&rest.Config{Host: server.URL, QPS: -1}); err != nil {
				t.Fatal(err)
			}
			if deleted, _ := l.Delete(t.Context(), state.NewWork(tc.listed)); deleted {
				t.Error("deleted, although the API server refused")
			}
			if diff := cmp.Diff(tc.want, s.sent); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
