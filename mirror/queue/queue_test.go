package queue

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/google/go-cmp/cmp"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/render"
)

// lined is a queue with its fresh sources.
type lined struct {
	*Queue
	memory *memory.Memory
}

func newLined(t *testing.T) *lined {
	l := &lined{memory: memory.New(clock.RealClock{})}
	l.Queue = New("mirror", l.memory.IsFresh, 4)
	t.Cleanup(l.ShutDown)
	return l
}

func (l *lined) addFresh(id render.Identity) {
	l.memory.Arrive(id, time.Now())
	l.Add(id)
}

// begin takes the next source from the queue, as a sync does.
func (l *lined) begin() render.Identity {
	id, _ := l.Get()
	l.memory.TakeArrival(id)
	return id
}

// empty drains the queue and returns the names in order.
func (l *lined) empty() (names []string) {
	for l.Len() > 0 {
		id := l.begin()
		names = append(names, id.Name)
		l.Done(id)
	}
	return names
}

func TestQueue(t *testing.T) {
	cases := map[string]struct {
		reason string
		add    func(*lined)
		want   []string
	}{
		"InOrder": {"each lane is first in, first out",
			func(q *lined) {
				q.Add(sample.Numbered(1))
				q.Add(sample.Numbered(2))
				q.addFresh(sample.Numbered(3))
				q.addFresh(sample.Numbered(4))
			},
			[]string{"3", "4", "1", "2"}},
		"ChangesLanes": {"a waiting source is preferred once it changes, and is synced once",
			func(q *lined) {
				q.Add(sample.Numbered(1))
				q.Add(sample.Numbered(2))
				q.addFresh(sample.Numbered(2))
				q.addFresh(sample.Numbered(2))
			},
			[]string{"2", "1"}},
		"StaysPreferred": {"a second reason to sync does not demote a source",
			func(q *lined) { q.Add(sample.Numbered(1)); q.addFresh(sample.Numbered(2)); q.Add(sample.Numbered(2)) },
			[]string{"2", "1"}},
		"WhileSynced": {"a source that changes during its sync is preferred afterwards",
			func(q *lined) {
				q.addFresh(sample.Numbered(1))
				id := q.begin()
				q.Add(sample.Numbered(2))
				q.addFresh(id)
				q.Done(id)
			},
			[]string{"1", "2"}},
		"Failed": {"a source that has just changed is retried before the rest",
			func(q *lined) {
				q.addFresh(sample.Numbered(1))
				id := q.begin()
				q.memory.Arrive(id, time.Now())
				q.Add(sample.Numbered(2))
				q.Add(id)
				q.Done(id)
			},
			[]string{"1", "2"}},
		"FailedBackfill": {"the retry of a backfill is not preferred",
			func(q *lined) {
				q.Add(sample.Numbered(1))
				id := q.begin()
				q.Add(sample.Numbered(2))
				q.Done(id)
				q.Add(id)
			},
			[]string{"2", "1"}},
		"OnceOnly": {"the preference ends with the sync",
			func(q *lined) {
				q.addFresh(sample.Numbered(1))
				q.empty()
				q.Add(sample.Numbered(2))
				q.Add(sample.Numbered(1))
			},
			[]string{"2", "1"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			q := newLined(t)
			c.add(q)
			if diff := cmp.Diff(c.want, q.empty()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			if left := len(q.lanes.queued); left > 0 {
				t.Errorf("%d entries are left over", left)
			}
		})
	}
}

// TestQueueStarvesNone: the other lane gets its turn however many changes there are.
func TestQueueStarvesNone(t *testing.T) {
	q := newLined(t)
	for i := range 100 {
		q.addFresh(sample.Numbered(i))
	}
	q.Add(sample.Numbered(1000))
	q.Add(sample.Numbered(1001))
	names := q.empty()
	if first, second := slices.Index(names, "1000"), slices.Index(names, "1001"); first != freshInARow || second != 2*freshInARow+1 {
		t.Errorf("the others came at positions %d and %d", first, second)
	}
}

// TestSlowSourcesLeaveWorkers: of sources whose syncs fail slowly, no more than half as many are synced at once as there are
// workers, whatever happens to them meanwhile. Each has its turn.
func TestSlowSourcesLeaveWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLined(t)
		fail := func(id render.Identity) {
			q.AddRateLimited(id)
			q.Done(id)
		}
		var hanging []render.Identity
		for i := range 5 {
			q.Add(sample.Numbered(i))
			hanging = append(hanging, q.begin())
		}
		time.Sleep(slowSync)
		for _, id := range hanging {
			fail(id)
			q.addFresh(id)
		}
		q.Add(sample.Numbered(9))
		slow := []render.Identity{q.begin(), q.begin()}
		if other := q.begin(); other != sample.Numbered(9) || slices.Contains(slow, other) || !q.IsPending(sample.Numbered(4)) {
			t.Fatalf("%v are synced, and then %v", slow, other)
		}
		synced := map[render.Identity]bool{}
		for len(slow) > 0 {
			synced[slow[0]] = true
			fail(slow[0])
			if slow = slow[1:]; len(synced)+len(slow) < 5 {
				slow = append(slow, q.begin())
			}
		}
		if len(synced) != 5 || q.IsSlow(sample.Numbered(0)) {
			t.Errorf("%v had a turn", synced)
		}
	})
}
