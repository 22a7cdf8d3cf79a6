package apiserver

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Object is an API object as apimachinery's unstructured decodes it. An object that was
// stored never changes.
type Object = map[string]any

// Ref names an object; without a name, a collection.
type Ref struct {
	Resource        schema.GroupResource
	Namespace, Name string
}

// Event is one committed write. Old is nil for an object that was created; Object is the
// last state, with the version of the deletion, for one that was deleted.
type Event struct {
	Type        watch.EventType
	Resource    schema.GroupResource
	Object, Old Object
	Revision    int64
}

// Ref names the object of the event.
func (e Event) Ref() Ref {
	m := metadata(e.Object)
	return Ref{e.Resource, text(m, "namespace"), text(m, "name")}
}

// Admission is a webhook, mutating or validating. It may change new, which is nil for DELETE,
// and returns the object to store; old is nil for CREATE. It is called without the store's
// lock and, like a real one, again when another write came between.
type Admission func(op string, gr schema.GroupResource, subresource string, new, old Object) (Object, error)

// Store is the etcd of one control plane, and everything else that its API servers share.
type Store struct {
	// ControllerDelay is how long after an event the controllers of the store act on it: the
	// namespace controller, the garbage collector and the one that establishes definitions.
	// Negative: never. It is set before the store is used.
	ControllerDelay time.Duration

	skew        atomic.Int64 // nanoseconds
	mu          sync.Mutex
	revision    int64
	created     int64 // objects; never goes back
	collections map[schema.GroupResource]*collection
	subscribers []*func(Event)
	admissions  []*Admission
	pending     []Event // committed, but not yet told to the subscribers
	telling     bool
}

// SetSkew sets how far the servers' clock is ahead of everybody else's.
func (s *Store) SetSkew(d time.Duration) { s.skew.Store(int64(d)) }

// now is the time in objects.
func (s *Store) now() metav1.Time {
	return metav1.NewTime(time.Now().Add(time.Duration(s.skew.Load())).UTC().Truncate(time.Second))
}

// history is how many events of a resource are kept.
const history = 1000

// collection is the objects of a resource that is served.
type collection struct {
	Resource
	items  []*revision // by key
	events []*change   // by revision
	// forgotten is the revision of the newest event that is not kept any more; a watch can
	// begin at dropped or later.
	forgotten, dropped int64
	changed            chan struct{} // closed by the next event
	gone               chan struct{} // closed when the resource is no longer served, or restored
}

// change is an event of a collection. new is nil for a deletion, last then is the object as
// the event shows it.
type change struct {
	old, new, last *revision
	revision       int64
	at             time.Time
}

// NewStore makes a store that serves resources.
func NewStore(resources ...Resource) *Store {
	s := &Store{ControllerDelay: 100 * time.Millisecond, revision: 1000, collections: map[schema.GroupResource]*collection{}}
	for _, r := range resources {
		s.collections[r.GroupResource()] = s.newCollection(r)
	}
	s.Subscribe(s.control)
	return s
}

func (s *Store) newCollection(r Resource) *collection {
	return &collection{Resource: r, dropped: s.revision, changed: make(chan struct{}), gone: make(chan struct{})}
}

// Serve adds resources, or replaces how they are served.
func (s *Store) Serve(resources ...Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range resources {
		c := s.newCollection(r)
		if before := s.collections[r.GroupResource()]; before != nil {
			c.items, c.events, c.forgotten, c.dropped = before.items, before.events, before.forgotten, before.dropped
			close(before.gone)
		}
		s.collections[r.GroupResource()] = c
	}
}

// Withdraw ends the serving of a resource, and all of its watches; its objects are gone.
func (s *Store) Withdraw(gr schema.GroupResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.collections[gr]; c != nil {
		close(c.gone)
		delete(s.collections, gr)
	}
}

// Served returns how a resource is served.
func (s *Store) Served(gr schema.GroupResource) (Resource, bool) {
	if c := s.collection(gr); c != nil {
		return c.Resource, true
	}
	return Resource{}, false
}

func (s *Store) collection(gr schema.GroupResource) *collection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.collections[gr]
}

// Revision is the newest one.
func (s *Store) Revision() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// Get returns an object, or nil.
func (s *Store) Get(r Ref) Object {
	if v := s.get(r); v != nil {
		return v.object
	}
	return nil
}

func (s *Store) get(r Ref) *revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.collections[r.Resource]
	if c == nil {
		return nil
	}
	if i, ok := c.find(r.Namespace + "/" + r.Name); ok {
		return c.items[i]
	}
	return nil
}

// List returns the objects of a namespace, "" for all, in etcd's order.
func (s *Store) List(gr schema.GroupResource, namespace string) []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.collections[gr]
	if c == nil {
		return nil
	}
	var objects []Object
	for _, v := range c.in(namespace) {
		objects = append(objects, v.object)
	}
	return objects
}

// find returns where an object is, or belongs, in etcd's order.
func (c *collection) find(key string) (int, bool) {
	return slices.BinarySearchFunc(c.items, key, func(v *revision, key string) int { return strings.Compare(v.key, key) })
}

func (c *collection) in(namespace string) []*revision {
	if namespace == "" {
		return c.items
	}
	from, _ := c.find(namespace + "/")
	to, _ := c.find(namespace + "0") // what follows the slash
	return c.items[from:to]
}

// commit writes a change if the object is still the one that it was made from; old or new is
// nil for a creation or a deletion.
func (s *Store) commit(c *collection, old, new *revision) (ok bool, stored *revision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	about := new
	if new == nil {
		about = old
	}
	i, found := c.find(about.key)
	if s.collections[c.GroupResource()] != c || found != (old != nil) || found && c.items[i] != old {
		return false, nil
	}
	s.revision++
	e := &change{old: old, revision: s.revision, at: time.Now()}
	event := Event{Resource: c.GroupResource(), Revision: s.revision}
	switch {
	case new == nil:
		e.last = old.at(s.revision)
		c.items = slices.Delete(slices.Clone(c.items), i, i+1)
		event.Type, event.Object, event.Old = watch.Deleted, e.last.object, old.object
		stored = e.last
	case old == nil:
		new.number(s.revision)
		e.new, stored = new, new
		c.items = slices.Insert(slices.Clip(c.items), i, new)
		event.Type, event.Object = watch.Added, new.object
	default:
		new.number(s.revision)
		e.new, stored = new, new
		c.items = slices.Clone(c.items)
		c.items[i] = new
		event.Type, event.Object, event.Old = watch.Modified, new.object, old.object
	}
	c.append(e)
	s.pending = append(s.pending, event)
	return true, stored
}

func (c *collection) append(e *change) {
	if len(c.events) >= 2*history {
		c.drop(len(c.events) - history)
	}
	c.events = append(c.events, e)
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *collection) drop(n int) {
	if n > 0 {
		c.forgotten = c.events[n-1].revision
		c.dropped = max(c.dropped, c.forgotten)
		c.events = slices.Clone(c.events[n:])
	}
}

// Compact forgets all history: a watch or a page from an older revision is answered by 410.
func (s *Store) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.collections {
		c.drop(len(c.events))
		c.dropped = s.revision
	}
}

// Subscribe calls f for every event, in order, after it was committed. f must not block.
func (s *Store) Subscribe(f func(Event)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(slices.Clone(s.subscribers), &f)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.subscribers = slices.DeleteFunc(slices.Clone(s.subscribers), func(g *func(Event)) bool { return g == &f })
	}
}

// tell passes what was committed to the subscribers. They learn of what they write after that.
func (s *Store) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.telling {
		return
	}
	s.telling = true
	for len(s.pending) > 0 {
		events, subscribers := s.pending, s.subscribers
		s.pending = nil
		s.mu.Unlock()
		for _, e := range events {
			for _, f := range subscribers {
				(*f)(e)
			}
		}
		s.mu.Lock()
	}
	s.telling = false
}

// Admit adds a webhook.
func (s *Store) Admit(a Admission) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admissions = append(slices.Clone(s.admissions), &a)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.admissions = slices.DeleteFunc(slices.Clone(s.admissions), func(b *Admission) bool { return b == &a })
	}
}

// Snapshot is a backup of a store.
type Snapshot struct {
	revision    int64
	collections map[schema.GroupResource]*collection
}

// Snapshot makes a backup.
func (s *Store) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	backup := Snapshot{s.revision, map[schema.GroupResource]*collection{}}
	for gr, c := range s.collections {
		backup.collections[gr] = &collection{Resource: c.Resource, items: slices.Clone(c.items)}
	}
	return backup
}

// Restore replaces everything by a backup: revisions go back, and all watches end. Subscribers
// learn of nothing.
func (s *Store) Restore(backup Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.collections {
		close(c.gone)
	}
	s.revision = backup.revision
	s.collections = maps.Clone(backup.collections)
	for gr, saved := range s.collections {
		c := s.newCollection(saved.Resource)
		c.items = slices.Clone(saved.items)
		s.collections[gr] = c
	}
}
