package daemon

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

const (
	// maxAhead is how many Events may be recorded but not yet sent: client-go's recorder
	// keeps a thousand, and silently drops any more.
	maxAhead = 500
	// maxPause is how long to wait at most: client-go never sends Events that are too
	// frequent for one object.
	maxPause = time.Second
)

// pace makes the recording of Events wait for an API server that is slow to take them. It
// has one entry for each Event that has not been sent.
type pace chan struct{}

func (p pace) recorded() {
	select {
	case p <- struct{}{}:
		return
	case <-time.After(maxPause):
	}
	for range cap(p) {
		p.sent()
	}
}

func (p pace) sent() {
	select {
	case <-p:
	default:
	}
}

type pacedRecorder struct {
	record.EventRecorder
	pace
}

// Event implements record.EventRecorder.
func (r pacedRecorder) Event(about runtime.Object, eventType, reason, message string) {
	r.recorded()
	r.EventRecorder.Event(about, eventType, reason, message)
}

type pacedSink struct {
	record.EventSink
	pace
}

// Create implements record.EventSink.
func (s pacedSink) Create(event *corev1.Event) (*corev1.Event, error) {
	defer s.sent()
	return s.EventSink.Create(event)
}

// Patch implements record.EventSink.
func (s pacedSink) Patch(event *corev1.Event, data []byte) (*corev1.Event, error) {
	defer s.sent()
	return s.EventSink.Patch(event, data)
}
