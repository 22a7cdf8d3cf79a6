package queue

import (
	"sync"

	"k8s.io/utils/buffer"

	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/render"
)

// freshInARow is how many sources of the fresh lane are taken before one of the other
// lane, so that the latter does not starve.
const freshInARow = 8

// lanes order a queue: two FIFO lanes, one of which is preferred.
type lanes struct {
	isFresh func(render.Identity) bool

	mu sync.Mutex
	// queued holds the waiting sources, and whether each waits in the fresh lane. An entry
	// of a lane that disagrees with it is a leftover of a change of lanes.
	queued         map[render.Identity]bool
	fresh, others  *buffer.Ring[render.Identity]
	takenFromFresh int
}

func newLanes(isFresh func(render.Identity) bool) *lanes {
	lane := func() *buffer.Ring[render.Identity] {
		return buffer.NewRing[render.Identity](buffer.RingOptions{InitialSize: 64, NormalSize: 1024})
	}
	return &lanes{isFresh: isFresh, queued: map[render.Identity]bool{}, fresh: lane(), others: lane()}
}

// Push implements workqueue.Queue.
func (l *lanes) Push(id render.Identity) {
	isFresh := l.isFresh(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queued[id] = isFresh
	l.lane(isFresh).WriteOne(id)
}

// Touch implements workqueue.Queue: a waiting source changes lanes once it is fresh.
func (l *lanes) Touch(id render.Identity) {
	isFresh := l.isFresh(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if isFresh && !l.queued[id] {
		l.queued[id] = true
		l.fresh.WriteOne(id)
	}
}

// has reports whether a source waits.
func (l *lanes) has(id render.Identity) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, waits := l.queued[id]
	return waits
}

// Len implements workqueue.Queue.
func (l *lanes) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queued)
}

// Pop implements workqueue.Queue.
func (l *lanes) Pop() render.Identity {
	l.mu.Lock()
	defer l.mu.Unlock()
	isFresh := l.takenFromFresh < freshInARow
	for ; ; isFresh = !isFresh {
		id, ok := l.next(isFresh)
		if !ok {
			continue
		}
		if isFresh {
			l.takenFromFresh++
		} else {
			l.takenFromFresh = 0
		}
		delete(l.queued, id)
		return id
	}
}

// next removes and returns the first source that still waits in a lane.
func (l *lanes) next(isFresh bool) (render.Identity, bool) {
	lane := l.lane(isFresh)
	for {
		id, ok := lane.ReadOne()
		if !ok {
			return render.Identity{}, false
		}
		if inFresh, waits := l.queued[id]; waits && inFresh == isFresh {
			return id, true
		}
	}
}

func (l *lanes) lane(isFresh bool) *buffer.Ring[render.Identity] {
	if isFresh {
		return l.fresh
	}
	return l.others
}

// prune frees the memory that the map keeps for deleted entries.
func (l *lanes) prune() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queued = memory.Shrink(l.queued)
}
