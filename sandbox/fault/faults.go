package fault

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault answers a request in place of the API server, which it may ask by next.
// removed is closed when the rule goes.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler, removed <-chan struct{})

// Chain applies faults one after the other, the first one outermost.
func Chain(faults ...Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, removed <-chan struct{}) {
		for _, f := range slices.Backward(faults) {
			inner := next
			next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f(w, r, inner, removed) })
		}
		next.ServeHTTP(w, r)
	}
}

// Delay answers late.
func Delay(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, _ <-chan struct{}) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
			abort()
		}
	}
}

// DelayAnswer has a request carried out at once, and answers late.
func DelayAnswer(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, removed <-chan struct{}) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		Delay(d)(w, r, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { hand(w, answer) }), removed)
	}
}

// Drop never answers, until the rule goes: then it breaks the request off.
func Drop() Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler, removed <-chan struct{}) {
		select {
		case <-r.Context().Done():
		case <-removed:
		}
		abort()
	}
}

// Reset breaks the request off.
func Reset() Fault {
	return func(http.ResponseWriter, *http.Request, http.Handler, <-chan struct{}) { abort() }
}

// Refuse answers with an error, such as apierrors.NewInternalError or
// apierrors.NewTooManyRequests make it.
func Refuse(err *apierrors.StatusError) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler, _ <-chan struct{}) {
		status := err.Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
		_ = json.NewEncoder(w).Encode(status) // a client that has gone has gone
	}
}

// EmptyList makes lists empty, by whatever way they are asked for. What is
// watched after the list arrives.
func EmptyList() Fault { return TruncatedList(0) }

// TruncatedList makes lists end after some items, as if there were no more.
func TruncatedList(items int) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, _ <-chan struct{}) {
		next.ServeHTTP(w, withEditor(r, truncate(items)))
	}
}

// SwallowBookmarks leaves out the bookmarks of watches: the end of a streaming
// list never comes.
func SwallowBookmarks() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, _ <-chan struct{}) {
		next.ServeHTTP(w, withEditor(r, swallowBookmarks()))
	}
}

// Expire ends watches with 410: what they go on from is too old. Lists by a
// stream go on from nothing and are let pass. Where any other request is matched,
// the answer is a lie: 200, and nothing was done.
func Expire() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, _ <-chan struct{}) {
		if isStreamingList(r) {
			next.ServeHTTP(w, r)
			return
		}
		status := apierrors.NewResourceExpired("too old resource version").Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "ERROR", "object": status})
	}
}

// hand passes an answer on.
func hand(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	for key, values := range answer.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // a client that has gone has gone
}

// abort breaks a request off without an answer.
func abort() { panic(http.ErrAbortHandler) }

func isStreamingList(r *http.Request) bool { return r.URL.Query().Get("sendInitialEvents") == "true" }
