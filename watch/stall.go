package watch

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// maxDoublings bounds the deadline of a list: five of 30 s make 16 minutes.
const maxDoublings = 5

// ErrStalled is a failure, if there is no other, until a list is complete.
var ErrStalled = errors.New("a list has stalled")

func (w *Watch) noteStall() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.setErrorLocked(ErrStalled)
	}
}

// noteList tweaks the options of a list or watch, and records whether it is a
// list: nothing else shows that an informer relists. A reflector gives every
// watch a timeout, and requests the initial events when the watch replaces a list.
//
// A list may be of any age, to client-go, or as old as what was seen last. Here it is consistent: the watch of a
// resource may start again long after its reader has written by it, and a server's cache may stand still.
func (w *Watch) noteList(o *metav1.ListOptions) {
	if w.Tweak != nil {
		w.Tweak(o)
	}
	version := w.version()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listBegan = w.Clock.Now()
	w.listBrought = w.listBegan
	w.listing = o.TimeoutSeconds == nil || ptr.Deref(o.SendInitialEvents, false)
	if w.listing && o.ResourceVersionMatch != metav1.ResourceVersionMatchExact { // that is how client-go compares two lists
		o.ResourceVersion = ""
	}
	if w.informer != nil {
		w.listVersion = version
	}
}

// noteFailure records that no list is in progress: client-go retries a failed list
// when it sees fit, so it has not stalled.
func (w *Watch) noteFailure() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listing = false
}

// noteAdded records that a list progresses, if the object is older than the list: a
// stream whose end never comes still delivers the events of a watch.
func (w *Watch) noteAdded(created time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if created.Before(w.listBegan) {
		w.listBrought = w.Clock.Now()
	}
}

// awaitStall blocks until ctx is done, or a list has made no progress for longer than the
// deadline: then it returns true.
func (w *Watch) awaitStall(ctx context.Context, deadline time.Duration) bool {
	if deadline <= 0 {
		return false
	}
	ticker := w.Clock.NewTicker(deadline / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C():
		}
		if pause, listing := w.listPauses(); listing && pause > deadline {
			return true
		}
	}
}

// listPauses returns how long ago the current list last made progress; false if there is no
// current list.
func (w *Watch) listPauses() (time.Duration, bool) {
	version := w.version()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.synced && version != w.listVersion {
		w.listing = false
	}
	return w.Clock.Since(w.listBrought), w.listing
}
