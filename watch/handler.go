package watch

import (
	"cmp"

	"k8s.io/client-go/tools/cache"
)

// Handler receives changes. Its functions are called from one goroutine at a
// time for one Watch, and never after Run has returned.
type Handler struct {
	// Changed is called with old nil for an object that appears and new nil for
	// one that is deleted.
	Changed func(old, new any)
	// Synced is called each time the cache becomes complete, after Changed was
	// called for every object in it.
	Synced func()
	// Unserved is called, if it is not nil, when the API server has said that it
	// does not serve the resource, or no longer does.
	Unserved func()
}

// eventHandler is the one place where tombstones are unwrapped.
func (w *Watch) eventHandler() cache.ResourceEventHandler {
	changed := func(old, new any) {
		w.lastEvent.Store(w.Clock.Now().UnixNano())
		w.handling.Lock()
		defer w.handling.Unlock()
		if key, err := cache.MetaNamespaceKeyFunc(cmp.Or(new, old)); err == nil && w.before != nil {
			old = cmp.Or(old, w.before[key])
			delete(w.before, key)
		}
		w.Handler.Changed(old, new)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(new any) { changed(nil, new) },
		UpdateFunc: func(old, new any) { changed(old, new) },
		DeleteFunc: func(old any) {
			if tombstone, ok := old.(cache.DeletedFinalStateUnknown); ok {
				old = tombstone.Obj
			}
			changed(old, nil)
		},
	}
}

// keep keeps what an informer had for the next one.
func (w *Watch) keep(had cache.Store) {
	w.handling.Lock()
	defer w.handling.Unlock()
	if w.before == nil {
		w.before = map[string]any{}
	}
	for _, key := range had.ListKeys() {
		w.before[key], _, _ = had.GetByKey(key)
	}
}

// drop tells the Handler what the list of the next informer has not brought.
func (w *Watch) drop() {
	w.handling.Lock()
	defer w.handling.Unlock()
	for _, old := range w.before {
		w.Handler.Changed(old, nil)
	}
	w.before = nil
}
