package cli

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/render"
)

// TestWaitLooksOnce proves that without a timeout wait looks once, and says what is missing.
func TestWaitLooksOnce(t *testing.T) {
	for until, missing := range map[string]string{"applied": "m1: its Work does not exist yet", "gone": "it asks to be mirrored"} {
		_, err := execute("wait", "configmaps/page", "-n", "shop", "--for", until, "--timeout", "0s", "--kubeconfig", serve(t, server(), nil), "--cache-dir", t.TempDir())
		if err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("for %s: %v does not say %q", until, err, missing)
		}
	}
}

// TestWaitOfTenant: wait is for those who see all Works of their object, and only these.
func TestWaitOfTenant(t *testing.T) {
	worksIn := func(cluster string) string {
		return workAPIPath + "/namespaces/" + render.ExecutionNamespace(cluster) + "/works"
	}
	forbidden := refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
	cases := map[string]struct {
		reason          string
		clusters, until string
		want            string // in the error
	}{
		"Own":   {"the Work for m1 may be read", "m1", "applied", "m1: its Work does not exist yet"},
		"Other": {"the Work for m2 may not", "m1,m2", "applied", "cannot tell: you may not read the Works for m2"},
		"Glob":  {"the Clusters may not be listed", "m*", "applied", "cannot tell: you may not read the Clusters"},
		"Gone":  {"Works may be left anywhere", "m1", "gone", "cannot tell: you may not read"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			paths := server()
			paths[worksIn("m1")] = paths[worksPath]
			paths[worksPath], paths[worksIn("m2")] = forbidden, forbidden
			paths[configMapPath], paths[clustersPath] = forbidden, forbidden
			paths[pagePath].(map[string]any)["metadata"].(map[string]any)["annotations"] = map[string]any{render.ClustersAnnotation: c.clusters}
			_, err := execute("wait", "configmaps/page", "-n", "shop", "--for", c.until, "--timeout", "0s", "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v does not say %q", c.reason, err, c.want)
			}
		})
	}
}

// TestDiffOfTheHidden proves that without the right to read Works, diff does not claim that nothing
// differs, nor explain that an object has no Works.
func TestDiffOfTheHidden(t *testing.T) {
	paths := server()
	answer := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		status := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure}
		body, ok := paths[r.URL.Path]
		switch {
		case strings.Contains(r.URL.Path, "/works"):
			status.Code, status.Reason = http.StatusForbidden, metav1.StatusReasonForbidden
		case !ok:
			status.Code, status.Reason, status.Details = http.StatusNotFound, metav1.StatusReasonNotFound, &metav1.StatusDetails{Name: "nothing"}
		}
		if status.Code != 0 {
			w.WriteHeader(int(status.Code))
			body = status
		}
		_ = json.NewEncoder(w).Encode(body) // fails only if the client has disconnected
	}
	run := func(arguments ...string) (string, error) {
		return execute(append(arguments, "-n", "shop", "--kubeconfig", serve(t, nil, answer), "--cache-dir", t.TempDir())...)
	}
	output, err := run("diff", "configmaps/page")
	if exit := (*exitError)(nil); !errors.As(err, &exit) || exit.code != exitTrouble || !strings.Contains(err.Error(), "you may not read some of the Works") {
		t.Errorf("diff: %v\n%s", err, output)
	}
	if output, err := run("explain", "configmaps/nothing"); err == nil || strings.Contains(err.Error(), "no leftover Works") {
		t.Errorf("explain: %v\n%s", err, output)
	}
}

// TestDiffOfTheGone: a Work that is deleted while diff runs, as beside a Namespace that goes, is no trouble; others differ.
func TestDiffOfTheGone(t *testing.T) {
	paths := fleet(t)
	maps.DeleteFunc(paths, func(path string, _ any) bool { return strings.Contains(path, "/works/gone") })
	output, err := execute("diff", "-A", "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())
	if exit := (*exitError)(nil); !errors.As(err, &exit) || exit.code != exitDiffers || !strings.Contains(output, "is gone meanwhile") {
		t.Errorf("diff: %v\n%s", err, output)
	}
}

// TestStatusOfAHiddenFleet: who may not list clusters is not told that a glob matches none of them.
func TestStatusOfAHiddenFleet(t *testing.T) {
	for _, hidden := range []bool{true, false} {
		paths := server()
		if paths[pagePath].(map[string]any)["metadata"].(map[string]any)["annotations"] = map[string]any{render.ClustersAnnotation: "x*"}; hidden {
			paths[clustersPath] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
		}
		for _, command := range []string{"status", "explain"} {
			output, err := execute(command, "configmaps/page", "-n", "shop", "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())
			if err != nil || strings.Contains(output, "matches no cluster") == hidden {
				t.Errorf("%s, clusters hidden: %t: %v\n%s", command, hidden, err, output)
			}
		}
	}
}
