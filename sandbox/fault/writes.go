package fault

import (
	"net/http"
	"net/http/httptest"
	"slices"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// Write is a request that changes something.
type Write struct {
	// Done means that the API server has carried it out, and the client does not
	// know yet.
	Done bool
}

// Witness sees each write twice: before the API server gets it, and before the
// client gets the answer. If it returns false, that does not happen.
type Witness func(Write) bool

// Witness sends every write to some resources past a witness; nil stops that.
func (p *Proxy) Witness(witness Witness, resources ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.witness, p.witnessed = witness, resources
}

// observed forwards a request, past the witness if it writes.
func (p *Proxy) observed(info *request.RequestInfo) http.Handler {
	p.mu.Lock()
	defer p.mu.Unlock()
	witness := p.witness
	if witness == nil || !slices.Contains([]string{"create", "update", "patch", "delete"}, info.Verb) || !slices.Contains(p.witnessed, info.Resource) {
		return p.forward
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !witness(Write{}) {
			abort()
		}
		answer := httptest.NewRecorder()
		p.forward.ServeHTTP(answer, r)
		if !witness(Write{Done: true}) {
			abort()
		}
		hand(w, answer)
	})
}
