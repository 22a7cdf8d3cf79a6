package watch

import (
	"cmp"
	"errors"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/tools/cache"
)

// Status is the state of a Watch.
type Status struct {
	State State
	// Served is the zero value while the API server does not serve the resource.
	Served Served
	// Unserved reports that the API server has said that it does not serve the resource.
	Unserved bool
	// Synced reports that the cache has been complete once and may be read.
	Synced bool
	// LastEvent is when the last event, or the first list, arrived; zero if none.
	LastEvent time.Time
	// ResourceVersion is the version that the cache has reached.
	ResourceVersion string
	// Err is the failure behind the State, if there is one.
	Err error
	// ErrSince is when the failure behind Err began; zero if there is none.
	ErrSince time.Time
	// ListFailing is since when lists have failed, each of them; zero if the last has not, or a watch has brought something since.
	ListFailing time.Time
}

// Status returns the state of the Watch.
func (w *Watch) Status() Status {
	w.mu.RLock()
	s := Status{State: Pending, Served: w.served, Unserved: w.unserved, Synced: w.synced, Err: w.err, ListFailing: w.listFailing}
	informer := w.informer
	if w.err != nil {
		s.ErrSince = w.errSince
	}
	w.mu.RUnlock()
	if at := w.lastEvent.Load(); at != 0 {
		s.LastEvent = time.Unix(0, at)
	}
	if informer == nil {
		if !s.Unserved {
			s.State = Syncing // discovery has not answered yet, or fails, or a stalled list is being restarted
		}
		return s
	}
	s.ResourceVersion = reached(informer)
	switch {
	case !s.Synced: // with Err, if the first list fails
		s.State = Syncing
	case s.Err != nil:
		s.State = Degraded
	default:
		s.State = Ready
	}
	return s
}

// LastKind returns the kind of the resource when it was last served. A Transform may call it, but
// not Status: an informer transforms under a lock that Status may wait for.
func (w *Watch) LastKind() schema.GroupKind {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.lastKind
}

// version returns the resource version that the cache has reached; "" if there is none. Never call
// it with w.mu held, which a Transform waits for.
func (w *Watch) version() string {
	w.mu.RLock()
	informer := w.informer
	w.mu.RUnlock()
	if informer == nil {
		return ""
	}
	return reached(informer)
}

// reached returns the resource version of the informer's store; with KUBE_FEATURE_AtomicFIFO=false, that of the reflector, which is ahead.
func reached(informer cache.SharedIndexInformer) string {
	return cmp.Or(informer.GetIndexer().LastStoreSyncResourceVersion(), informer.LastSyncResourceVersion())
}

// Get returns the cached object. synced is false, and the answer means nothing,
// unless the cache has been complete once.
func (w *Watch) Get(namespace, name string) (obj any, found, synced bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if !w.synced {
		return nil, false, false
	}
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	// The indexer of an informer returns no error.
	obj, found, _ = w.informer.GetIndexer().GetByKey(key)
	return obj, found, true
}

// ByIndex returns the cached objects that an indexer put under value: none
// while the resource is not served.
func (w *Watch) ByIndex(index, value string) []any {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.informer == nil {
		return nil
	}
	objs, err := w.informer.GetIndexer().ByIndex(index, value)
	if err != nil {
		return nil // the index does not exist: nothing is under it
	}
	return objs
}

// IndexKeys returns the values of an index: none while the resource is not served.
func (w *Watch) IndexKeys(index string) []string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.informer == nil {
		return nil
	}
	return w.informer.GetIndexer().ListIndexFuncValues(index)
}

// List returns the cached objects: none while the resource is not served.
func (w *Watch) List() []any {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.informer == nil {
		return nil
	}
	return w.informer.GetIndexer().List()
}

// isOrdinaryEnd reports whether a watch ended as watches do: the server closes
// each after some minutes.
func isOrdinaryEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsProbableEOF(err)
}

func (w *Watch) kind() schema.GroupKind {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.served.Kind
}
