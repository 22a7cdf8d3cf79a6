package karmada

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// The limits of client-go's recorder (tools/record/events_cache.go), and how long an API server keeps an Event.
const (
	burst        = 25
	refill       = 5 * time.Minute
	cacheEntries = 4096
	ttl          = time.Hour
)

// recorder writes Events: equal ones are counted, and of one component about one object only 25 are written at once, then one in five minutes.
type recorder struct {
	store *apiserver.Store

	mu      sync.Mutex
	n       int64
	buckets map[subject]*bucket
	known   map[occurrence]*seen
	kept    []keptEvent // oldest first
}

type keptEvent struct {
	ref apiserver.Ref
	at  time.Time
}

// subject is a component and the object that it reports about.
type subject struct{ component, apiVersion, kind, namespace, name, uid string }

// occurrence is what equal Events have in common.
type occurrence struct {
	subject
	kind, reason, message string
}

type bucket struct {
	tokens float64
	at     time.Time
}

type seen struct {
	name, first string
	count       int64
}

func newRecorder(store *apiserver.Store) *recorder {
	return &recorder{store: store, buckets: map[subject]*bucket{}, known: map[occurrence]*seen{}}
}

func events() schema.GroupResource { return schema.GroupResource{Resource: "events"} }

// event writes an Event about an object.
func (r *recorder) event(component string, about Object, kind, reason, message string) {
	u := in(about)
	r.write(occurrence{subject{component, u.GetAPIVersion(), u.GetKind(), u.GetNamespace(), u.GetName(), string(u.GetUID())}, kind, reason, message})
}

func (r *recorder) write(o occurrence) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if len(r.known) >= cacheEntries || len(r.buckets) >= cacheEntries {
		clear(r.known)
		clear(r.buckets)
	}
	text := now.UTC().Format(time.RFC3339)
	e := r.known[o]
	if e == nil {
		r.n++
		e = &seen{name: fmt.Sprintf("%s.%x", o.name, now.UnixNano()+r.n), first: text}
		r.known[o] = e
	}
	e.count++ // what is dropped counts too
	if !r.take(o.subject, now) {
		return
	}
	r.expire(now)
	namespace := cmp.Or(o.namespace, "default")
	ref := apiserver.Ref{Resource: events(), Namespace: namespace, Name: e.name}
	r.kept = append(r.kept, keptEvent{ref, now})
	if e.count > 1 && r.store.Get(ref) != nil {
		_, _ = r.store.Modify(ref, "", func(event Object) { event["count"], event["lastTimestamp"] = e.count, text })
		return
	}
	_, _ = r.store.Create(events(), Object{ // an Event that cannot be written is lost
		"apiVersion": "v1", "kind": "Event", "metadata": Object{"namespace": namespace, "name": e.name},
		"involvedObject": Object{"apiVersion": o.apiVersion, "kind": o.subject.kind, "namespace": o.namespace, "name": o.name, "uid": o.uid},
		"type":           o.kind, "reason": o.reason, "message": o.message, "source": Object{"component": o.component},
		"firstTimestamp": e.first, "lastTimestamp": text, "count": e.count, "reportingComponent": o.component, "reportingInstance": "", "eventTime": nil,
	})
}

// take takes a token from the bucket of a subject, if there is one.
func (r *recorder) take(s subject, now time.Time) bool {
	b := r.buckets[s]
	if b == nil {
		b = &bucket{tokens: burst, at: now}
		r.buckets[s] = b
	}
	b.tokens = min(burst, b.tokens+float64(now.Sub(b.at))/float64(refill))
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// expire removes the Events that have not been written for an hour, as the leases of etcd do.
func (r *recorder) expire(now time.Time) {
	for len(r.kept) > 0 && now.Sub(r.kept[0].at) >= ttl {
		ref := r.kept[0].ref
		r.kept = r.kept[1:]
		event := r.store.Get(ref)
		if last, err := time.Parse(time.RFC3339, stringAt(event, "lastTimestamp")); err == nil && now.Sub(last) >= ttl {
			_ = r.store.Delete(ref, deleteOptions("")) // it may be gone already
		}
	}
}
