package daemon

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

const (
	// maxAhead is how many Events may be recorded and not have been sent: client-go's recorder
	// keeps a thousand, and drops the others without a word.
	maxAhead = 500
	// maxPause is how long nobody waits any more: what is told of one object too often is
	// never sent.
	maxPause = time.Second
)

// pace has whoever records Events wait for an API server that takes them slowly. There is
// one entry for each that has not been sent.
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
