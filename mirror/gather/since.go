package gather

import (
	"sync"
	"time"
)

// since remembers when something was first seen, by the local clock: that of the API server may
// differ. The zero value remembers nothing.
type since[K comparable] struct {
	mu sync.Mutex
	at map[K]time.Time
}

// note returns when something was first seen. That is now if it was not known.
func (s *since[K]) note(key K, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, isKnown := s.at[key]; isKnown {
		return at
	}
	if s.at == nil {
		s.at = map[K]time.Time{}
	}
	s.at[key] = now
	return now
}

// get returns when something was first seen; otherwise if it was not.
func (s *since[K]) get(key K, otherwise time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, isKnown := s.at[key]; isKnown {
		return at
	}
	return otherwise
}

// forget forgets what is no longer seen.
func (s *since[K]) forget(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.at, key)
}
