package apiserver

import "time"

// AuditEvent is a request for a resource. There are two events of each: Code is 0 when it was
// received, and the answer's after that.
type AuditEvent struct {
	Time time.Time
	Verb string // as RBAC's: get, list, watch, create, update, patch, delete, deletecollection
	Ref
	Subresource, UserAgent string
	Body                   []byte
	Code                   int
	// Sent is when the client sent it, by its header [SentHeader].
	Sent time.Time
}

// SentHeader is the header of a request that says when it was sent, in the format of time.RFC3339Nano.
const SentHeader = "Sent"

// Audit sets what learns of every request. f is called by the goroutine of the request.
func (srv *Server) Audit(f func(AuditEvent)) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.audit = f
}

func (srv *Server) record(r *request) (done func(code int)) {
	srv.mu.Lock()
	audit := srv.audit
	srv.mu.Unlock()
	if audit == nil {
		return func(int) {}
	}
	e := AuditEvent{Verb: r.verb, Ref: r.Ref, Subresource: r.subresource, UserAgent: r.UserAgent(), Body: r.body}
	e.Time = time.Now()
	e.Sent, _ = time.Parse(time.RFC3339Nano, r.Header.Get(SentHeader))
	audit(e)
	return func(code int) {
		e.Time, e.Code = time.Now(), code
		audit(e)
	}
}
