package karmada

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// The limits of client-go's recorder (tools/record/events_cache.go), and the API servers' --event-ttl.
const (
	burst        = 25
	refill       = 5 * time.Minute
	cacheEntries = 4096
	eventTTL     = time.Hour
)

var events = schema.GroupResource{Resource: "events"}

// recorder writes Events: equal ones are counted, and of one component about one object only 25 are written at once, then
// one in five minutes.
type recorder struct {
	store *apiserver.Store

	mu      sync.Mutex
	written int64 // makes names differ
	buckets map[subject]*bucket
	known   map[occurrence]*seen
}

// subject is a component and the object that it reports about.
type subject struct{ component, apiVersion, kind, namespace, name, uid string }

// occurrence is what equal Events have in common.
type occurrence struct {
	subject
	isWarning       bool
	reason, message string
}

type bucket struct {
	tokens float64
	at     time.Time
}

type seen struct {
	name, first string
	count       int64
}

// event writes an Event about an object, with another UID if one is given.
func (r *recorder) event(component string, about Object, uid string, isWarning bool, reason, message string) {
	u := in(about)
	r.write(occurrence{subject{component, u.GetAPIVersion(), u.GetKind(), u.GetNamespace(), u.GetName(), cmp.Or(uid, string(u.GetUID()))}, isWarning, reason, message})
}

func (r *recorder) write(o occurrence) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= cacheEntries || len(r.buckets) >= cacheEntries {
		clear(r.known)
		clear(r.buckets)
	}
	e := r.known[o]
	if e == nil {
		r.written++
		e = &seen{name: fmt.Sprintf("%s.%x", o.name, time.Now().UnixNano()+r.written), first: now()}
		r.known[o] = e
	}
	e.count++ // what is dropped counts too
	if !r.take(o.subject) {
		return
	}
	ref := apiserver.Ref{Resource: events, Namespace: cmp.Or(o.namespace, metav1.NamespaceDefault), Name: e.name}
	if _, err := r.store.Modify(ref, "", func(event Object) { event["count"], event["lastTimestamp"] = e.count, now() }); !apierrors.IsNotFound(err) {
		return
	}
	kind := corev1.EventTypeNormal
	if o.isWarning {
		kind = corev1.EventTypeWarning
	}
	_, _ = r.store.Create(events, Object{ // an Event that cannot be written is lost
		"metadata":       Object{"namespace": ref.Namespace, "name": ref.Name},
		"involvedObject": Object{"apiVersion": o.apiVersion, "kind": o.kind, "namespace": o.namespace, "name": o.subject.name, "uid": o.uid},
		"type":           kind, "reason": o.reason, "message": o.message, "source": Object{"component": o.component}, "count": e.count,
		"firstTimestamp": e.first, "lastTimestamp": now(), "reportingComponent": o.component,
	})
}

// take takes a token from the bucket of a subject, if there is one.
func (r *recorder) take(s subject) bool {
	b := r.buckets[s]
	if b == nil {
		b = &bucket{tokens: burst, at: time.Now()}
		r.buckets[s] = b
	}
	b.tokens = min(burst, b.tokens+float64(time.Since(b.at))/float64(refill))
	if b.at = time.Now(); b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// expire removes an Event that has not been written for an hour, by any writer; etcd's leases do that.
func (k *Karmada) expire(ref apiserver.Ref) error {
	event := k.control.Get(ref)
	last, err := time.Parse(time.RFC3339, cmp.Or(stringAt(event, "lastTimestamp"), in(event).GetCreationTimestamp().UTC().Format(time.RFC3339)))
	if event == nil || err != nil {
		return nil
	}
	if left := eventTTL - time.Since(last); left > 0 {
		k.events.after(ref, left)
		return nil
	}
	return k.control.Delete(ref, metav1.DeleteOptions{})
}
