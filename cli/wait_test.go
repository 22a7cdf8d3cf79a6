package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// webDeployment returns a Deployment of three replicas in the second generation.
func webDeployment(clusters string) *unstructured.Unstructured {
	u := configMapOf("shop", "web", map[string]string{render.ClustersAnnotation: clusters}, nil)
	u.SetAPIVersion("apps/v1")
	u.SetKind("Deployment")
	u.SetGeneration(2)
	delete(u.Object, "data")
	u.Object["spec"] = map[string]any{"replicas": int64(3)}
	return u
}

// withStatus adds to a Work what Karmada reports of the status of its object.
func withStatus(work *unstructured.Unstructured, status map[string]any) *unstructured.Unstructured {
	manifests := work.Object["status"].(map[string]any)["manifestStatuses"].([]any)
	manifests[0].(map[string]any)["status"] = status
	return work
}

// TestWaitSaysWhatIsMissing: also if its time is over while the API server does not answer.
func TestWaitSaysWhatIsMissing(t *testing.T) {
	source := webDeployment("m1")
	paths := deploymentServer(source, false, reported(t, source, metav1.ConditionTrue, "", "Unhealthy"))
	for want, hangs := range map[string]func(began time.Time, r *http.Request) bool{
		"health is Unhealthy":             func(began time.Time, _ *http.Request) bool { return time.Since(began) > 1500*time.Millisecond },
		"the API server has not answered": func(_ time.Time, r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/clusters") },
	} {
		began := time.Now()
		from := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
			if hangs(began, r) {
				<-r.Context().Done()
				return
			}
			w.Header().Set("Content-Type", "application/json")
			body, ok := paths[r.URL.Path]
			if !ok {
				w.WriteHeader(http.StatusNotFound)
				body = refusal(http.StatusNotFound, metav1.StatusReasonNotFound)
			}
			_ = json.NewEncoder(w).Encode(body)
		})
		_, err := execute("wait", "deployments/web", "-n", "shop", "--for", "healthy", "--timeout", "3s", "--kubeconfig", from, "--cache-dir", t.TempDir())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
}

// TestPasses: only what has an answer, or a certificate that is refused, ends a wait.
func TestPasses(t *testing.T) {
	of := func(err error) error {
		return fmt.Errorf("cannot list: %w", &url.Error{Op: "Get", URL: "https://karmada", Err: err})
	}
	for err, want := range map[error]bool{
		of(errors.New("net/http: TLS handshake timeout")): true,
		of(os.ErrDeadlineExceeded):                        true,
		of(syscall.EHOSTUNREACH):                          true,
		of(io.EOF):                                        true,
		of(&tls.CertificateVerificationError{Err: errors.New("unknown CA")}): false,
		apierrors.NewInternalError(errors.New("etcdserver: leader changed")): true,
		apierrors.NewForbidden(schema.GroupResource{}, "", nil):              false,
		errors.New("it does not exist"):                                      false,
	} {
		if isTransient(err) != want {
			t.Errorf("%v: passes: %t", err, !want)
		}
	}
}

// deploymentServer is a server with that Deployment and its Works.
func deploymentServer(source *unstructured.Unstructured, aggregate bool, works ...*unstructured.Unstructured) map[string]any {
	paths := server()
	options := ""
	if aggregate {
		options = ", aggregateStatus: true"
	}
	configMap := paths[configMapPath].(map[string]any)
	configMap["data"] = map[string]any{config.Key: configHead + "resources: [{group: apps, resource: deployments" + options + "}]\n"}
	version := metav1.GroupVersionForDiscovery{GroupVersion: "apps/v1", Version: "v1"}
	paths["/apis"] = metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{
		{Name: "apps", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version},
	}}
	paths["/apis/apps/v1"] = serving("apps/v1", namespaced("deployments", "Deployment"))
	paths["/apis/apps/v1/namespaces/shop/deployments/web"] = source.Object
	var items []any
	for _, work := range works {
		items = append(items, work.Object)
		paths[path.Join(workAPIPath, "namespaces", work.GetNamespace(), "works", work.GetName())] = work.Object
	}
	paths[worksPath].(map[string]any)["items"] = items
	return paths
}

// TestWaitForHealthy: wait is not satisfied by the health of the content before the last change, and
// does not ask whether statuses are aggregated.
func TestWaitForHealthy(t *testing.T) {
	of := func(generation, observed int64) map[string]any {
		return map[string]any{"replicas": int64(3), "updatedReplicas": int64(3), "readyReplicas": int64(3), "availableReplicas": int64(3), "generation": int64(5), "observedGeneration": observed, "resourceTemplateGeneration": generation}
	}
	surplus := of(2, 5)
	surplus["replicas"] = int64(4)
	cases := map[string]struct {
		reason        string
		until, health string
		status        map[string]any
		want          string // in the error; empty if the state is reached
	}{
		"New":         {"the report is about this generation", "healthy", "Healthy", of(2, 5), ""},
		"Old":         {"Karmada reports on the generation before", "healthy", "Healthy", of(1, 5), "m1: what Karmada reports is from before the last change"},
		"NotObserved": {"the member's controller has not seen the change", "healthy", "Healthy", of(2, 4), "m1: what Karmada reports is from before the last change"},
		"Unhealthy":   {"the health is not that", "healthy", "Unhealthy", of(2, 5), "m1: health is Unhealthy"},
		"OldPodLeft":  {"Karmada calls it healthy while the old Pod still runs, because the new one fails", "healthy", "Healthy", surplus, "m1: health is Unhealthy"},
		"NoHealth":    {"no health is reported", "healthy", "", of(2, 5), "m1: health is Unknown"},
		"Applied":     {"health does not matter", "applied", "Unhealthy", of(1, 4), ""},
	}
	for name, c := range cases {
		for _, aggregate := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				source := webDeployment("m1")
				work := withStatus(reported(t, source, metav1.ConditionTrue, "", c.health), c.status)
				from := serve(t, deploymentServer(source, aggregate, work), nil)
				output, err := execute("wait", "deployments/web", "-n", "shop", "--for", c.until, "--timeout", "0s", "--kubeconfig", from, "--cache-dir", t.TempDir())
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s, aggregateStatus %v: %v does not say %q\n%s", c.reason, aggregate, err, c.want, output)
				}
			})
		}
	}
}

// TestWaitIsInterrupted: Ctrl-C says what was missing, too.
func TestWaitIsInterrupted(t *testing.T) {
	source := webDeployment("m1")
	from := serve(t, deploymentServer(source, false, reported(t, source, metav1.ConditionTrue, "", "Unhealthy")), nil)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(1500*time.Millisecond, cancel)
	root := New()
	root.SetArgs([]string{"wait", "deployments/web", "-n", "shop", "--for=healthy", "--kubeconfig", from})
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	if err := root.ExecuteContext(ctx); err == nil || !strings.Contains(err.Error(), "interrupted") || !strings.Contains(err.Error(), "health is Unhealthy") {
		t.Error(err)
	}
}

// TestStatusOfNoMember: a misspelt cluster is a mistake, and no empty list.
func TestStatusOfNoMember(t *testing.T) {
	source := webDeployment("m1")
	from := serve(t, deploymentServer(source, false, reported(t, source, metav1.ConditionTrue, "", "Healthy")), nil)
	for member, fails := range map[string]bool{"m1": false, "membr1": true} {
		if output, err := execute("status", "deployments/web", "-n", "shop", "--member", member, "--kubeconfig", from); (err != nil) != fails || fails && !strings.Contains(told(output, err), "there is no cluster \"membr1\"") {
			t.Errorf("%s: %s", member, told(output, err))
		}
	}
}

// TestWaitForReplacement: a cluster that still has an earlier object of that name, which is to be replaced, is waited for.
func TestWaitForReplacement(t *testing.T) {
	page := func(uid, value string) *judge.Source {
		return judge.NewSource(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "immutable": true, "data": map[string]any{"a": value},
			"metadata": map[string]any{"name": "page", "namespace": "shop", "uid": uid, "annotations": map[string]any{render.ClustersAnnotation: "m1,m2"}},
		}}, render.Wishes{})
	}
	seen := seenWorks{states: workStates{}, reports: map[types.NamespacedName]*state.Report{}}
	work := func(s *judge.Source, cluster string) *state.Work {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(s.Template.Work(cluster)); err != nil {
			t.Fatal(err)
		}
		u.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Applied", "status": "True"}}}
		seen.note(u)
		return state.NewWork(u)
	}
	is := page("2", "c")
	f := judge.Facts{ID: is.ID, Source: is, Live: true, Clusters: map[string]judge.ClusterFacts{"m1": {State: judge.ClusterJoined}, "m2": {State: judge.ClusterJoined}},
		Works: map[string]*state.Work{"m1": work(is, "m1"), "m2": work(page("1", "b"), "m2")}}
	missing, err := (&waitCommand{until: untilApplied}).behind(judge.On(f), seen)
	if err != nil || len(missing) != 1 || !strings.HasPrefix(missing[0], "m2: ") {
		t.Errorf("%q, %v", missing, err)
	}
}

// TestLeftHeld: what is left because its deletion is held says so.
func TestLeftHeld(t *testing.T) {
	work := &state.Work{Meta: state.Meta{Namespace: "karmada-es-m1", Name: "w"}, Cluster: "m1", Held: &render.Hold{}}
	got := left(judge.Facts{Works: map[string]*state.Work{"m1": work}})
	if len(got) != 1 || !strings.Contains(got[0], "its deletion is held (karmada-mirror deletions list)") {
		t.Errorf("%q", got)
	}
}
