package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// auditLog is a reading of the API server's audit log from a moment on.
type auditLog struct {
	offset int64
}

func auditFromNow(t *testing.T) auditLog {
	t.Helper()
	info, err := os.Stat(env.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	return auditLog{info.Size()}
}

// request is one request.
type request struct {
	Verb           string
	User           struct{ Username string }
	UserAgent      string
	ObjectRef      struct{ Resource, Namespace, Name string }
	ResponseStatus struct{ Code int }
}

func (r request) succeeded() bool { return r.ResponseStatus.Code < 300 }

// probeAgent is the user agent of what tests do with the daemon's rights.
const probeAgent = "probe"

// requests lists the requests that the daemon has made, without its Lease and
// its Events.
func (a auditLog) requests(t *testing.T) []request {
	t.Helper()
	return slices.DeleteFunc(a.of(t, serviceaccount.MakeUsername(system, account)), func(r request) bool {
		return slices.Contains([]string{"leases", "events"}, r.ObjectRef.Resource) || r.UserAgent == probeAgent
	})
}

// of lists the requests of a user.
func (a auditLog) of(t *testing.T, user string) []request {
	t.Helper()
	file, err := os.Open(env.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(a.offset, 0); err != nil {
		t.Fatal(err)
	}
	var requests []request
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		// Most lines are of others, and decoding takes most of the time.
		if !bytes.Contains(lines.Bytes(), []byte(user)) {
			continue
		}
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.User.Username != user {
			continue // the line that is being written, or one about the user
		}
		requests = append(requests, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return requests
}

// wrote returns an error until somebody, by the name of a user, has written a Work.
func (a auditLog) wrote(t *testing.T, user string, work types.NamespacedName) error {
	t.Helper()
	for _, r := range a.of(t, user) {
		if r.ObjectRef.Resource == "works" && r.ObjectRef.Namespace == work.Namespace && r.ObjectRef.Name == work.Name &&
			slices.Contains([]string{"update", "patch"}, r.Verb) && r.succeeded() {
			return nil
		}
	}
	return fmt.Errorf("%s has not written %s", user, work)
}

// reads counts the objects of a resource that the daemon has read one by one.
func (a auditLog) reads(t *testing.T, resource string) int {
	t.Helper()
	n := 0
	for _, r := range a.requests(t) {
		if r.Verb == "get" && r.ObjectRef.Resource == resource {
			n++
		}
	}
	return n
}

// writes counts what the daemon has written, by "verb resource".
func (a auditLog) writes(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, r := range a.requests(t) {
		if slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			continue
		}
		key := r.Verb + " " + r.ObjectRef.Resource
		if !r.succeeded() {
			key += fmt.Sprintf(" failed with %d", r.ResponseStatus.Code)
		}
		counts[key]++
	}
	return counts
}

// deleted lists the Works that the daemon has deleted, as namespace/name.
func (a auditLog) deleted(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, r := range a.requests(t) {
		if r.Verb == "delete" && r.ObjectRef.Resource == "works" && r.succeeded() {
			names = append(names, r.ObjectRef.Namespace+"/"+r.ObjectRef.Name)
		}
	}
	return names
}
