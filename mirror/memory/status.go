package memory

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

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

// statusWrite is the last write of the status of a source, by this process. Do not change it.
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

// Turn says when a status may be written.
type Turn struct {
	// After is how long to wait; 0 is now.
	After time.Duration
	// Contested: another writer keeps changing the status, so it is not written for now.
	Contested bool
	// NoOp: writing it would change nothing, as it did before.
	NoOp bool
}

// next is when the next status may be written, one with this progress.
func (w *statusWrite) next(generation int64, progress aggregate.Progress) time.Time {
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

// StatusTurn returns when to write a status with this progress to a source that does not have it.
func (m *Memory) StatusTurn(now *state.SourceStatus, content string, progress aggregate.Progress) (turn Turn) {
	m.changeSource(now.ID, func(s *source) {
		last := s.status
		if last == nil || last.source != now.UID {
			return
		}
		since, left := m.clock.Since(last.at), last.next(now.Generation, progress).Sub(m.clock.Now())
		switch {
		case since >= statusTruce:
		case state.IsOlder(now.Version, last.version) && since < AwaitCache:
			turn.After = AwaitCache - since // our last write is not in the cache yet; it is an event
		case last.asStored && last.version == now.Version && last.content == content:
			turn.NoOp = true
		case last.contested || last.writes >= maxUndone && last.isUndone(now, content):
			contested := *last
			contested.contested = true
			s.status, turn = &contested, Turn{After: statusTruce - since, Contested: true}
		default:
			turn.After = max(0, left)
		}
	})
	return turn
}

// isUndone reports whether another writer has changed the status since that write, so that it is to be written
// again. A changed time alone is not another writer's, even beside fields that the API server does not keep.
func (w *statusWrite) isUndone(now *state.SourceStatus, content string) bool {
	return w.content == content && w.left != string(now.Status)
}

// WroteStatus notes that a status was written, and the version and the status of the source after that.
func (m *Memory) WroteStatus(now *state.SourceStatus, content, version string, left []byte, progress aggregate.Progress) {
	next := &statusWrite{source: now.UID, version: version, content: content, left: string(left), generation: now.Generation, at: m.clock.Now(), writes: 1}
	if progress != aggregate.Complete {
		next.unfinished, next.incompleteAt = 1, next.at
	}
	m.changeSource(now.ID, func(s *source) {
		if last := s.status; last != nil && last.source == now.UID {
			if progress == aggregate.Complete {
				next.incompleteAt = last.incompleteAt
			} else if last.generation == now.Generation && m.clock.Since(last.at) < 2*rollingPause {
				next.unfinished += last.unfinished
			}
			if last.isUndone(now, content) && m.clock.Since(last.at) < statusTruce {
				next.writes += last.writes
			}
		}
		if version == now.Version { // nothing has changed, so no one has undone it
			next.asStored, next.writes = true, 0
		}
		s.status = next
	})
}

// ForgetStatuses lets all statuses be written at once.
func (m *Memory) ForgetStatuses() {
	m.sources(func(_ render.Identity, s *source) { s.status = nil })
}
