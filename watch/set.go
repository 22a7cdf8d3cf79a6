package watch

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Set is a collection of Watches that changes while it runs.
type Set struct {
	// newWatch creates the Watch for a resource.
	newWatch func(Resource) *Watch

	mu      sync.RWMutex
	ctx     context.Context // of Run; nil before
	wanted  []Resource
	members map[Resource]*member
	running sync.WaitGroup
}

type member struct {
	watch  *Watch
	cancel context.CancelFunc
}

// NewSet returns an empty Set that creates its Watches with newWatch.
func NewSet(newWatch func(Resource) *Watch) *Set {
	return &Set{newWatch: newWatch, members: map[Resource]*member{}}
}

// Run runs the Set's Watches until ctx is done and all of them have ended.
func (s *Set) Run(ctx context.Context) {
	s.mu.Lock()
	s.ctx = ctx
	s.adjustLocked()
	s.mu.Unlock()
	<-ctx.Done()

	s.mu.Lock()
	s.ctx = nil
	clear(s.members)
	s.mu.Unlock()
	s.running.Wait()
}

// Apply makes the Set hold exactly these resources. Watches that stay are not
// disturbed. It does not wait for removed Watches to end, but the Set no longer
// returns them.
func (s *Set) Apply(resources []Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted = slices.Clone(resources)
	s.adjustLocked()
}

func (s *Set) adjustLocked() {
	if s.ctx == nil {
		return
	}
	for r, m := range s.members {
		if !slices.Contains(s.wanted, r) {
			m.cancel()
			delete(s.members, r)
		}
	}
	for _, r := range s.wanted {
		if _, ok := s.members[r]; ok {
			continue
		}
		ctx, cancel := context.WithCancel(s.ctx)
		m := &member{watch: s.newWatch(r), cancel: cancel}
		s.members[r] = m
		s.running.Go(func() { m.watch.Run(ctx) })
	}
}

// Recheck asks every Watch to check again whether its resource is served.
func (s *Set) Recheck() {
	for _, w := range s.All() {
		w.Recheck()
	}
}

// All returns the Watches in no particular order.
func (s *Set) All() []*Watch {
	s.mu.RLock()
	defer s.mu.RUnlock()
	watches := make([]*Watch, 0, len(s.members))
	for _, m := range s.members {
		watches = append(watches, m.watch)
	}
	return watches
}

// ByKind returns the Watch whose resource is served with this kind.
func (s *Set) ByKind(kind schema.GroupKind) (*Watch, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, m := range s.members {
		if m.watch.kind() == kind {
			return m.watch, true
		}
	}
	return nil, false
}
