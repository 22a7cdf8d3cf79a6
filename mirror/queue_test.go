package mirror

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karmada-target/karmada-mirror/render"
)

// lined is a queue, and what is fresh in it.
type lined struct {
	*queue
	arrivals arrivals
}

func newLined(t *testing.T) *lined {
	l := &lined{}
	l.queue = newQueue(l.arrivals.has)
	t.Cleanup(l.ShutDown)
	return l
}

func (l *lined) addFresh(id render.Identity) {
	l.arrivals.note(id, time.Now())
	l.Add(id)
}

// begin takes the first from the queue, as a sync does.
func (l *lined) begin() render.Identity {
	id, _ := l.Get()
	l.arrivals.take(id)
	return id
}

// empty takes all, and lists the names in their order.
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
		"InOrder": {"each lane is a line",
			func(q *lined) {
				q.Add(numbered(1))
				q.Add(numbered(2))
				q.addFresh(numbered(3))
				q.addFresh(numbered(4))
			},
			[]string{"3", "4", "1", "2"}},
		"ChangesLanes": {"what waits is preferred when it changes, and comes once",
			func(q *lined) {
				q.Add(numbered(1))
				q.Add(numbered(2))
				q.addFresh(numbered(2))
				q.addFresh(numbered(2))
			},
			[]string{"2", "1"}},
		"StaysPreferred": {"to be looked at for another reason as well is no disadvantage",
			func(q *lined) { q.Add(numbered(1)); q.addFresh(numbered(2)); q.Add(numbered(2)) },
			[]string{"2", "1"}},
		"WhileSynced": {"what changes while it is synced is preferred when that is done",
			func(q *lined) {
				q.addFresh(numbered(1))
				id := q.begin()
				q.Add(numbered(2))
				q.addFresh(id)
				q.Done(id)
			},
			[]string{"1", "2"}},
		"Failed": {"what has just changed is tried again before the rest",
			func(q *lined) {
				q.addFresh(numbered(1))
				id := q.begin()
				q.arrivals.note(id, time.Now())
				q.Add(numbered(2))
				q.Add(id)
				q.Done(id)
			},
			[]string{"1", "2"}},
		"FailedBackfill": {"what fails for other reasons is not preferred",
			func(q *lined) {
				q.Add(numbered(1))
				id := q.begin()
				q.Add(numbered(2))
				q.Done(id)
				q.Add(id)
			},
			[]string{"2", "1"}},
		"OnceOnly": {"the preference ends with the sync",
			func(q *lined) { q.addFresh(numbered(1)); q.empty(); q.Add(numbered(2)); q.Add(numbered(1)) },
			[]string{"2", "1"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			q := newLined(t)
			c.add(q)
			if diff := cmp.Diff(c.want, q.empty()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			if left := len(q.lanes.queued) + len(q.arrivals.at); left > 0 {
				t.Errorf("%d entries are left behind", left)
			}
		})
	}
}

// TestQueueStarvesNobody: however many changes there are, the rest gets its turn.
func TestQueueStarvesNobody(t *testing.T) {
	q := newLined(t)
	for i := range 100 {
		q.addFresh(numbered(i))
	}
	q.Add(numbered(1000))
	q.Add(numbered(1001))
	names := q.empty()
	if first, second := slices.Index(names, "1000"), slices.Index(names, "1001"); first != freshInARow || second != 2*freshInARow+1 {
		t.Errorf("the others came in places %d and %d", first, second)
	}
}
