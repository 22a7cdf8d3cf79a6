package write

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// refusing starts an API server that refuses deletions, and answers patches with a version. It
// records what it is sent.
func refusing(t *testing.T, refusal metav1.Status, version string) (c Client, sent *[]string) {
	t.Helper()
	sent = &[]string{}
	refusal.TypeMeta, refusal.Status = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, metav1.StatusFailure
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var on struct {
			Preconditions, Metadata struct{ UID, ResourceVersion string }
		}
		_ = json.Unmarshal(body, &on) // a GET has none
		w.Header().Set("Content-Type", "application/json")
		var answer any = sample.Work(sample.Asking("1", "m1"), "m1", sample.Version("9"))
		switch r.Method {
		case http.MethodDelete:
			*sent = append(*sent, "delete it if it is "+on.Preconditions.UID+" at "+on.Preconditions.ResourceVersion)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(int(refusal.Code))
			answer = refusal
		case http.MethodPatch:
			*sent = append(*sent, "patch it at "+on.Metadata.ResourceVersion)
			answer = metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	c, err := NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return c, sent
}

// TestRefusedDeletion: the client never retries a refused deletion, whatever the reason. It
// shrinks a Work that is too large to be deleted, unless it has changed since it was examined.
func TestRefusedDeletion(t *testing.T) {
	noRoom := metav1.Status{Code: http.StatusInternalServerError, Message: "etcdserver: request is too large"}
	cases := map[string]struct {
		reason  string
		refusal metav1.Status
		version string
		shrunk  bool
		want    []string
	}{
		"NoRoom":    {"it is shrunk, and judged again", noRoom, "8", true, []string{"delete it if it is work-uid at 7", "patch it at 7"}},
		"NoSmaller": {"a Work that cannot be shrunk is an error", noRoom, "7", false, []string{"delete it if it is work-uid at 7", "patch it at 7"}},
		"Throttled": {"the proof may no longer hold by the time the API server accepts it", metav1.Status{Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests}, "", false, []string{"delete it if it is work-uid at 7"}},
		"Failed":    {"an API server in trouble", metav1.Status{Code: http.StatusInternalServerError, Message: "in trouble"}, "", false, []string{"delete it if it is work-uid at 7"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, sent := refusing(t, tc.refusal, tc.version)
			err := c.Delete(t.Context(), state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1")), false)
			if err == nil || errors.Is(err, ErrPrepared) != tc.shrunk {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, *sent); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLeavesTheObject: Karmada's finalizer goes first where Karmada would change the object.
func TestLeavesTheObject(t *testing.T) {
	suspended := func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, true, "spec", "suspendDispatching")
	}
	const patched, deleted = "patch it at 7", "delete it if it is work-uid at 7"
	for name, tc := range map[string]struct {
		changes      []sample.Change
		leavesObject bool
		want         []string
	}{
		"Deleted":   {nil, false, []string{deleted}},
		"Left":      {nil, true, []string{patched}}, // another owner's Work carries it
		"Preserved": {[]sample.Change{sample.Preserving, sample.Applied("True")}, false, []string{deleted}},
		"Pending":   {[]sample.Change{sample.Preserving}, false, []string{patched}},
		"Suspended": {[]sample.Change{suspended}, false, []string{deleted}},
		"Both":      {[]sample.Change{sample.Preserving, sample.Applied("True"), suspended}, false, []string{patched}}, // Karmada would apply it
		"Free":      {[]sample.Change{sample.Preserving, suspended, sample.Unfinalized}, true, []string{deleted}},
	} {
		c, sent := refusing(t, metav1.Status{Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests}, "8")
		err := c.Delete(t.Context(), state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1", tc.changes...)), tc.leavesObject)
		if errors.Is(err, ErrPrepared) && mayHaveHappened(err) {
			t.Errorf("%s: a deletion that was not sent counts as one", name)
		}
		if diff := cmp.Diff(tc.want, *sent); diff != "" || err == nil {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
		}
	}
}

// TestDeadlines: a deletion does not wait longer than its proof may age, and no write for ever. One that was
// not answered may have happened, unless a deletion was only to be prepared.
func TestDeadlines(t *testing.T) {
	left := time.Duration(0)
	c, err := NewClient(&rest.Config{Host: "http://127.0.0.1", QPS: -1, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		until, _ := r.Context().Deadline()
		left = time.Until(until)
		return nil, context.DeadlineExceeded
	})})
	if err != nil {
		t.Fatal(err)
	}
	create := func() error { _, err := c.create(t.Context(), "karmada-es-m1", []byte("{}")); return err }
	patch := func() error { _, err := c.patch(t.Context(), "karmada-es-m1", "page", []byte("{}")); return err }
	remove := func(leavesObject bool) func() error {
		return func() error {
			return c.Delete(t.Context(), state.NewWork(sample.Work(sample.Asking("1", "m1"), "m1")), leavesObject)
		}
	}
	for name, tc := range map[string]struct {
		do     func() error
		within time.Duration
		may    bool
	}{"delete": {remove(false), deletionDeadline, true}, "prepare": {remove(true), Deadline, false}, "create": {create, Deadline, true}, "patch": {patch, Deadline, true}} {
		if err := tc.do(); mayHaveHappened(err) != tc.may || left <= tc.within/2 || left > tc.within {
			t.Errorf("%s: %s were left: %v", name, left, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
