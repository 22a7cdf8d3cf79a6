package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// AuditLog reads the API server's audit log from a point on, for the requests of the daemons.
type AuditLog struct{ offset int64 }

// AuditFromNow starts reading at the current end of the log.
func AuditFromNow(t *testing.T) AuditLog {
	t.Helper()
	info, err := os.Stat(Env.AuditLog())
	Must(t, err)
	return AuditLog{info.Size()}
}

// Request is one request in the audit log.
type Request struct {
	Verb           string
	User           struct{ Username string }
	UserAgent      string
	ObjectRef      struct{ Resource, Subresource, Namespace, Name string }
	ResponseStatus struct {
		Code    int
		Message string
	}
	// RequestReceivedTimestamp orders requests when one follows from another. The order of
	// the log does not: a request is logged when it has been answered.
	RequestReceivedTimestamp time.Time
}

// Succeeded reports whether the request succeeded.
func (r Request) Succeeded() bool { return r.ResponseStatus.Code < 300 }

// Requests lists the requests of the daemons in the order in which the API server got them,
// except those for their Lease and Events.
func (a AuditLog) Requests(t *testing.T) (requests []Request) {
	t.Helper()
	file, err := os.Open(Env.AuditLog())
	Must(t, err)
	defer file.Close()
	_, err = file.Seek(a.offset, 0)
	Must(t, err)
	user := serviceaccount.MakeUsername(System, Account)
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		// Most lines are other users' requests, and decoding takes most of the time.
		if !bytes.Contains(lines.Bytes(), []byte(user)) {
			continue
		}
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.User.Username != user || slices.Contains([]string{"leases", "events"}, r.ObjectRef.Resource) {
			continue // a line still being written, or one that only mentions the user
		}
		requests = append(requests, r)
	}
	Must(t, lines.Err())
	slices.SortStableFunc(requests, func(x, y Request) int { return x.RequestReceivedTimestamp.Compare(y.RequestReceivedTimestamp) })
	return requests
}

// WorkWrites lists the successful writes to the Works with a name, as "verb namespace".
func (a AuditLog) WorkWrites(t *testing.T, name string) (writes []string) {
	t.Helper()
	for _, r := range a.Requests(t) {
		if r.ObjectRef.Resource == Works.Resource && r.ObjectRef.Name == name && r.Succeeded() && slices.Contains([]string{"create", "patch", "delete"}, r.Verb) {
			writes = append(writes, r.Verb+" "+r.ObjectRef.Namespace)
		}
	}
	return writes
}
