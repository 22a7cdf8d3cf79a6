package fault

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault answers a request in place of the API server, which it can call through
// next. removed is closed when the rule is removed.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler, removed <-chan struct{})

// Delay forwards a request late.
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

// DelayAnswer forwards a request at once, and answers late.
func DelayAnswer(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, removed <-chan struct{}) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		Delay(d)(w, r, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { hand(w, answer) }), removed)
	}
}

// Drop does not answer. When the rule is removed, it aborts the request.
func Drop() Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler, removed <-chan struct{}) {
		select {
		case <-r.Context().Done():
		case <-removed:
		}
		abort()
	}
}

// Reset aborts the request.
func Reset() Fault {
	return func(http.ResponseWriter, *http.Request, http.Handler, <-chan struct{}) { abort() }
}

// Refuse answers with an error, such as one from apierrors.NewInternalError or
// apierrors.NewTooManyRequests.
func Refuse(err *apierrors.StatusError) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler, _ <-chan struct{}) {
		status := err.Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
		_ = json.NewEncoder(w).Encode(status) // ignore a client that is gone
	}
}

// hand forwards an answer.
func hand(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	for key, values := range answer.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // ignore a client that is gone
}

// abort aborts a request without an answer.
func abort() { panic(http.ErrAbortHandler) }
