package apiserver

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

const (
	// bookmarkInterval is the watch cache's (defaultBookmarkFrequency of apiserver's cacher).
	bookmarkInterval = time.Minute
	// defaultTimeout ends watches that name no timeout (--min-request-timeout).
	defaultTimeout = 30 * time.Minute
)

// stream is the body of a watch. It has no goroutine: what the client reads is made when it
// reads.
type stream struct {
	*request
	srv    *Server
	ctx    context.Context
	cancel context.CancelFunc
	selection
	shape shape

	buffer []byte // what was made and not read
	at     int64  // the revision up to which everything was made
	// listing is the revision at which the initial events end; 0 once they have ended.
	listing   int64
	bookmarks bool
	bookmark  time.Time // when the next one is due
	booked    int64     // the revision of the last one
	ends      time.Time
	over      bool // no more events; what is in the buffer remains to be read
}

func (srv *Server) watch(r *request) (response, error) {
	o, err := r.options()
	if err != nil {
		return response{}, err
	}
	since, err := strconv.ParseInt(cmp.Or(o.ResourceVersion, "0"), 10, 64)
	if err != nil {
		return response{}, apierrors.NewInvalid(schema.GroupKind{Group: r.collection.Group, Kind: r.Ref.Resource.Resource}, "", field.ErrorList{invalidVersion(o.ResourceVersion, err)})
	}
	timeout := defaultTimeout
	if o.TimeoutSeconds != nil && *o.TimeoutSeconds > 0 {
		timeout = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	w := &stream{request: r, srv: srv, selection: r.selection(o), shape: r.shape(), at: since, bookmarks: o.AllowWatchBookmarks, ends: time.Now().Add(timeout)}
	w.ctx, w.cancel = context.WithCancel(r.Context())
	w.bookmark = time.Now().Add(bookmarkInterval)
	initial := ptr.Deref(o.SendInitialEvents, false)
	if o.SendInitialEvents == nil {
		initial = since == 0
	}
	w.begin(initial, o.SendInitialEvents != nil && *o.SendInitialEvents && w.bookmarks)
	return response{code: http.StatusOK, kind: jsonType, stream: w}, nil
}

// begin finds out where the watch starts.
func (w *stream) begin(initial, announced bool) {
	s := w.srv.store
	s.mu.Lock()
	defer s.mu.Unlock()
	c := w.collection
	cached, _ := w.srv.cachedLocked(c)
	switch {
	case initial:
		if announced {
			w.listing = max(w.at, 1)
			if w.at == 0 && w.URL.Query().Get("resourceVersion") == "" {
				w.listing = s.revision
			}
		}
		items, _ := c.at("", cached)
		for _, v := range items {
			if w.matches(v) {
				w.event(watch.Added, v)
			}
		}
		w.at = cached
	case w.at == 0:
		w.at = cached
	case w.at < c.dropped:
		w.fail(apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", w.at, c.dropped)))
	}
}

// Read implements io.Reader. It blocks until there is an event.
func (w *stream) Read(to []byte) (int, error) {
	for len(w.buffer) == 0 {
		if w.over {
			return 0, io.EOF
		}
		if err := w.ctx.Err(); err != nil {
			return 0, err
		}
		changed, lagged, next := w.collect()
		if len(w.buffer) > 0 || w.over {
			continue
		}
		w.wait(changed, lagged, next)
	}
	n := copy(to, w.buffer)
	w.buffer = w.buffer[n:]
	return n, nil
}

// Close implements io.Closer.
func (w *stream) Close() error {
	w.cancel()
	return nil
}

func (w *stream) wait(changed, lagged <-chan struct{}, next time.Duration) {
	timer := time.NewTimer(next)
	defer timer.Stop()
	select {
	case <-w.ctx.Done():
	case <-w.collection.gone:
	case <-changed:
	case <-lagged:
	case <-timer.C:
	}
}

// collect makes the events that the watch cache has, and says what to wait for.
func (w *stream) collect() (changed, lagged <-chan struct{}, next time.Duration) {
	s := w.srv.store
	s.mu.Lock()
	defer s.mu.Unlock()
	c := w.collection
	now := time.Now()
	if gone(c) || !now.Before(w.ends) || w.at < c.forgotten { // the last: it was too slow
		w.over = true
		return nil, nil, 0
	}
	cached, next := w.srv.cachedLocked(c)
	i := sort.Search(len(c.events), func(i int) bool { return c.events[i].revision > w.at })
	for ; i < len(c.events) && c.events[i].revision <= cached; i++ {
		w.pass(c.events[i])
	}
	w.at = max(w.at, cached)
	if w.listing > 0 && w.at >= w.listing {
		w.mark(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		w.listing = 0
	}
	if w.bookmarks && w.listing == 0 && !now.Before(w.bookmark) {
		if w.bookmark = now.Add(bookmarkInterval); w.booked != w.at {
			w.mark(nil)
		}
	}
	wait := w.ends.Sub(now)
	if w.bookmarks {
		wait = min(wait, w.bookmark.Sub(now))
	}
	if next > 0 {
		wait = min(wait, next)
	}
	w.srv.mu.Lock()
	defer w.srv.mu.Unlock()
	return c.changed, w.srv.lagged, wait
}

func gone(c *collection) bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// pass makes what an event is for this watch: objects may enter or leave its selection.
func (w *stream) pass(e *change) {
	was, is := w.matches(e.old), w.matches(e.new)
	switch {
	case is && !was:
		w.event(watch.Added, e.new)
	case is:
		w.event(watch.Modified, e.new)
	case was && e.last != nil:
		w.event(watch.Deleted, e.last)
	case was:
		w.event(watch.Deleted, e.old.at(e.revision))
	}
}

func (w *stream) event(kind watch.EventType, v *revision) {
	w.buffer = append(w.buffer, `{"type":"`+string(kind)+`","object":`...)
	w.buffer = v.write(w.buffer, w.shape)
	w.buffer = append(w.buffer, "}\n"...)
}

// mark makes a bookmark.
func (w *stream) mark(annotations map[string]string) {
	w.booked = w.at
	w.raw(watch.Bookmark, map[string]any{
		"kind": w.shape.kind, "apiVersion": w.shape.apiVersion,
		"metadata": metav1.ObjectMeta{ResourceVersion: strconv.FormatInt(w.at, 10), Annotations: annotations},
	})
}

// fail ends the watch with an error: one that has begun reports it as an event.
func (w *stream) fail(err *apierrors.StatusError) {
	status := err.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	w.raw(watch.Error, status)
	w.over = true
}

func (w *stream) raw(kind watch.EventType, object any) {
	w.buffer = append(w.buffer, `{"type":"`+string(kind)+`","object":`...)
	w.buffer = append(w.buffer, encode(object)...)
	w.buffer = append(w.buffer, "}\n"...)
}
