package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// AuditLog reads the API server's audit log from a point on, for the requests of a test's
// daemons.
type AuditLog struct {
	offset int64
	user   string
}

// AuditFromNow starts reading at the current end of the log.
func AuditFromNow(t *testing.T) AuditLog {
	t.Helper()
	return AuditLog{auditSize(t), User(t)}
}

func auditSize(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(Env.AuditLog())
	Must(t, err)
	return info.Size()
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

// ProbeAgent is the user agent of requests that tests make with the daemon's permissions.
const ProbeAgent = "probe"

// Requests lists the requests of the daemons, except those for their Lease and Events.
func (a AuditLog) Requests(t *testing.T) []Request {
	t.Helper()
	return slices.DeleteFunc(a.of(t, a.user, math.MaxInt64), func(r Request) bool {
		return slices.Contains([]string{"leases", "events"}, r.ObjectRef.Resource) || r.UserAgent == ProbeAgent
	})
}

// Refused returns an error until a write of a Work, by any user, has been refused.
func (a AuditLog) Refused(t *testing.T, work string) error {
	t.Helper()
	if !slices.ContainsFunc(a.of(t, "", math.MaxInt64), func(r Request) bool {
		return r.ObjectRef.Resource == "works" && r.ObjectRef.Name == work && r.ResponseStatus.Code == http.StatusUnprocessableEntity
	}) {
		return fmt.Errorf("no write of %s has been refused", work)
	}
	return nil
}

// of lists the requests of one user, or of all users if user is empty, up to an offset in
// the log.
func (a AuditLog) of(t *testing.T, user string, until int64) []Request {
	t.Helper()
	file, err := os.Open(Env.AuditLog())
	Must(t, err)
	defer file.Close()
	_, err = file.Seek(a.offset, 0)
	Must(t, err)
	var requests []Request
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	at := a.offset
	for lines.Scan() && at < until {
		at += int64(len(lines.Bytes())) + 1
		// Most lines are other users' requests, and decoding takes most of the time.
		if !bytes.Contains(lines.Bytes(), []byte(user)) {
			continue
		}
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || user != "" && r.User.Username != user {
			continue // a line still being written, or one that only mentions the user
		}
		requests = append(requests, r)
	}
	Must(t, lines.Err())
	return requests
}

// TookBack returns an error until a user has written a Work (not just its status) and a
// daemon has written it after that.
func (a AuditLog) TookBack(t *testing.T, user string, work types.NamespacedName) error {
	t.Helper()
	isWrite := func(r Request) bool {
		o := r.ObjectRef
		return o.Resource == "works" && o.Subresource == "" && o.Namespace == work.Namespace && o.Name == work.Name &&
			slices.Contains([]string{"update", "patch"}, r.Verb) && r.Succeeded()
	}
	theirs := a.of(t, user, math.MaxInt64)
	took := slices.IndexFunc(theirs, isWrite)
	if took < 0 {
		return fmt.Errorf("%s has not written %s", user, work)
	}
	if !slices.ContainsFunc(a.Requests(t), func(r Request) bool {
		return isWrite(r) && r.RequestReceivedTimestamp.After(theirs[took].RequestReceivedTimestamp)
	}) {
		return fmt.Errorf("%s has written %s, and no daemon has taken it back", user, work)
	}
	return nil
}

// Reads counts the daemons' GETs of single objects of a resource.
func (a AuditLog) Reads(t *testing.T, resource string) int {
	t.Helper()
	n := 0
	for _, r := range a.Requests(t) {
		if r.Verb == "get" && r.ObjectRef.Resource == resource && r.ObjectRef.Name != Account { // not its configuration
			n++
		}
	}
	return n
}

// Writes counts the daemons' writes, by "verb resource". A write that failed with a
// conflict is not counted: Karmada's status updates change Works all the time.
func (a AuditLog) Writes(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, r := range a.Requests(t) {
		isConflict := r.ResponseStatus.Code == http.StatusConflict && r.Verb != "create"
		if isConflict || slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			continue
		}
		key := r.Verb + " " + r.ObjectRef.Resource
		if !r.Succeeded() {
			key += fmt.Sprintf(" failed with %d", r.ResponseStatus.Code)
		}
		counts[key]++
	}
	return counts
}

// Deleted lists the Works that the daemons deleted, as namespace/name.
func (a AuditLog) Deleted(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, d := range a.deletions(t, math.MaxInt64) {
		names = append(names, d.work)
	}
	return names
}

// deletion is a deletion that a daemon made.
type deletion struct {
	work string // namespace/name
	// asked is when the request arrived; the log orders by when it was answered.
	asked time.Time
}

func (a AuditLog) deletions(t *testing.T, until int64) []deletion {
	t.Helper()
	var all []deletion
	for _, r := range a.of(t, a.user, until) {
		if r.Verb == "delete" && r.ObjectRef.Resource == "works" && r.Succeeded() && r.UserAgent != ProbeAgent {
			all = append(all, deletion{r.ObjectRef.Namespace + "/" + r.ObjectRef.Name, r.RequestReceivedTimestamp})
		}
	}
	return all
}

// Told counts the Events that the daemons have sent about the objects of a namespace,
// repeats of the same Event included.
func (a AuditLog) Told(t *testing.T, namespace string) int {
	t.Helper()
	n := 0
	for _, r := range a.of(t, a.user, math.MaxInt64) {
		if r.ObjectRef.Resource == "events" && r.ObjectRef.Namespace == namespace && r.Succeeded() {
			n++
		}
	}
	return n
}

// Conflicted returns an error until an update of a Work has failed with a conflict.
func (a AuditLog) Conflicted(t *testing.T) error {
	t.Helper()
	for _, r := range a.Requests(t) {
		if r.Verb == "patch" && r.ObjectRef.Resource == "works" && r.ResponseStatus.Code == http.StatusConflict {
			return nil
		}
	}
	return fmt.Errorf("no update of a Work failed with a conflict")
}
