package cli

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
