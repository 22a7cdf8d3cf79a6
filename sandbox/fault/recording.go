package fault

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
)

// Recording remembers the last streaming list of each path, to replay it when
// it is stale.
type Recording struct {
	mu    sync.Mutex
	lists map[string]*tape // by URL path
}

// tape holds the events of one list, including the bookmark that ends it.
type tape struct {
	http.ResponseWriter
	mu       sync.Mutex
	events   []byte
	complete bool
}

// NewRecording returns an empty Recording.
func NewRecording() *Recording { return &Recording{lists: map[string]*tape{}} }

// Record records streaming lists, and changes nothing.
func (r *Recording) Record() Fault {
	return func(w http.ResponseWriter, request *http.Request, next http.Handler, _ <-chan struct{}) {
		if isStreamingList(request) {
			t := &tape{ResponseWriter: w}
			r.mu.Lock()
			r.lists[request.URL.Path] = t
			r.mu.Unlock()
			w = t
		}
		next.ServeHTTP(w, request)
	}
}

// Replay answers streaming lists from the recording, and then falls silent.
// Lists that were not recorded pass.
func (r *Recording) Replay() Fault {
	return func(w http.ResponseWriter, request *http.Request, next http.Handler, removed <-chan struct{}) {
		r.mu.Lock()
		t := r.lists[request.URL.Path]
		r.mu.Unlock()
		if t == nil || !isStreamingList(request) {
			next.ServeHTTP(w, request)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		list := t.recorded()
		if _, err := w.Write(list); err != nil {
			return
		}
		if len(list) > 0 {
			noteEffect(request.Context())
		}
		_ = http.NewResponseController(w).Flush() // ignore a client that is gone
		select {
		case <-request.Context().Done():
		case <-removed:
		}
		abort()
	}
}

// Write implements io.Writer. The proxy writes whole events or parts of them;
// the recording stops at the end of the list.
func (t *tape) Write(b []byte) (int, error) {
	t.mu.Lock()
	if !t.complete {
		t.events = append(t.events, b...)
		t.complete = endOfList(t.events) >= 0
	}
	t.mu.Unlock()
	return t.ResponseWriter.Write(b)
}

// Unwrap lets the proxy flush.
func (t *tape) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *tape) recorded() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.events[:max(0, endOfList(t.events))]
}

// endOfList returns the end of the event that ends the list, or -1 if there is
// none.
func endOfList(events []byte) int {
	end := 0
	for line := range bytes.Lines(events) {
		end += len(line)
		var e event
		if json.Unmarshal(line, &e) == nil && e.endsList() {
			return end
		}
	}
	return -1
}
