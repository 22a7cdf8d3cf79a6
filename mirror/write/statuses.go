package write

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/render/aggregate"
)

const (
	// statusPause is the shortest time between two writes of the status of a source. While replicas
	// come and go, each of them changes the status: then the next write is after settlingPause, and
	// in a rollout the one after that after rollingPause. What ends it never waits for these.
	statusPause   = time.Second
	settlingPause = 10 * time.Second
	rollingPause  = 3 * time.Minute
	// maxUndone is how often another writer may undo the same status. After that, we leave the
	// status alone for a truce.
	maxUndone   = 5
	statusTruce = time.Hour
)

// Statuses remember the statuses of sources that this process has written. They decide only when
// to write, never what.
type Statuses struct {
	clock clock.Clock
	mu    sync.Mutex
	of    map[render.Identity]statusWrite
}

// statusWrite is the last write of the status of a source.
type statusWrite struct {
	source types.UID
	// version is that of the source after the write; content is what was written, without the times of
	// conditions, and left is the status that the source had then.
	version, content, left string
	at                     time.Time
	// unfinished is how often in a row a status was written that was not complete, that of
	// generation, and incompleteAt when that was last, in a row or not.
	unfinished   int
	generation   int64
	incompleteAt time.Time
	// writes is how often in a row it was written: all but the last have been undone.
	writes int
	// asStored: the API server keeps no more of content than the source has, such as a null or a
	// field that it does not know.
	asStored bool
	// contested: it is not written during the truce, whatever it would be.
	contested bool
}

// NewStatuses creates an empty memory.
func NewStatuses(c clock.Clock) *Statuses {
	return &Statuses{clock: c, of: map[render.Identity]statusWrite{}}
}

// Turn says when a status may be written.
type Turn struct {
	// After is how long to wait; 0 is now.
	After time.Duration
	// Contested: another writer keeps changing the status, so it is not written for now.
	Contested bool
	// Vain: writing it would change nothing, as it did before.
	Vain bool
}

// next is when the next status may be written, one with this progress.
func (w statusWrite) next(generation int64, progress aggregate.Progress) time.Time {
	switch {
	case progress == aggregate.Complete || w.generation != generation:
		return w.at.Add(statusPause)
	case w.unfinished == 0: // it may have been complete for a moment
		return slices.MaxFunc([]time.Time{w.at.Add(statusPause), w.incompleteAt.Add(settlingPause)}, time.Time.Compare)
	case progress == aggregate.Settling || w.unfinished == 1:
		return w.at.Add(settlingPause)
	}
	return w.at.Add(rollingPause)
}

// Turn returns when to write a status with this progress to a source that does not have it.
func (s *Statuses) Turn(now *state.Standing, content string, progress aggregate.Progress) Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.of[now.ID]
	since, left := s.clock.Since(last.at), last.next(now.Generation, progress).Sub(s.clock.Now())
	switch {
	case !ok || last.source != now.UID || since >= statusTruce:
		return Turn{}
	case state.IsOlder(now.Version, last.version) && since < memory.AwaitCache:
		return Turn{After: memory.AwaitCache - since} // our last write is not in the cache yet; it is an event
	case last.asStored && last.version == now.Version && last.content == content:
		return Turn{Vain: true}
	case last.contested || last.writes >= maxUndone && last.isUndone(now, content):
		last.contested = true
		s.of[now.ID] = last
		return Turn{After: statusTruce - since, Contested: true}
	}
	return Turn{After: max(0, left)}
}

// isUndone reports whether another writer has changed the status since that write, so that it is to be written
// again. A time that goes on is no one's doing, even beside fields that the API server does not keep.
func (w statusWrite) isUndone(now *state.Standing, content string) bool {
	return w.content == content && w.left != string(now.Status)
}

// Wrote notes that a status was written, and the version and the status of the source after that.
func (s *Statuses) Wrote(now *state.Standing, content, version string, left []byte, progress aggregate.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := statusWrite{source: now.UID, version: version, content: content, left: string(left), generation: now.Generation, at: s.clock.Now(), writes: 1}
	last, ok := s.of[now.ID]
	if ok && last.source == now.UID {
		next.incompleteAt = last.incompleteAt
	}
	if progress != aggregate.Complete {
		next.unfinished, next.incompleteAt = 1, next.at
		if ok && last.source == now.UID && last.generation == now.Generation && s.clock.Since(last.at) < 2*rollingPause {
			next.unfinished += last.unfinished
		}
	}
	if ok && last.source == now.UID && last.isUndone(now, content) && s.clock.Since(last.at) < statusTruce {
		next.writes += last.writes
	}
	if version == now.Version { // nothing has changed, so no one has undone it
		next.asStored, next.writes = true, 0
	}
	s.of[now.ID] = next
}

// Reset forgets everything: the next statuses are written at once.
func (s *Statuses) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of = map[render.Identity]statusWrite{}
}

// Prune drops what is over.
func (s *Statuses) Prune() {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := map[render.Identity]statusWrite{}
	for id, last := range s.of {
		if s.clock.Since(last.at) < statusTruce {
			kept[id] = last
		}
	}
	s.of = kept
}
