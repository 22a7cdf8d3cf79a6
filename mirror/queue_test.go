package mirror

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// take empties a queue, syncing nothing, and lists the names in their order.
func take(q *queue) (names []string) {
	for q.Len() > 0 {
		id, _ := q.Get()
		names = append(names, id.Name)
		q.Done(id)
	}
	return names
}

func TestQueue(t *testing.T) {
	cases := map[string]struct {
		reason string
		add    func(*queue)
		want   []string
	}{
		"InOrder": {"each lane is a line",
			func(q *queue) {
				q.Add(numbered(1))
				q.Add(numbered(2))
				q.addFresh(numbered(3))
				q.addFresh(numbered(4))
			},
			[]string{"3", "4", "1", "2"}},
		"ChangesLanes": {"what waits is preferred when it changes, and comes once",
			func(q *queue) {
				q.Add(numbered(1))
				q.Add(numbered(2))
				q.addFresh(numbered(2))
				q.addFresh(numbered(2))
			},
			[]string{"2", "1"}},
		"StaysPreferred": {"to be looked at for another reason as well is no disadvantage",
			func(q *queue) { q.Add(numbered(1)); q.addFresh(numbered(2)); q.Add(numbered(2)) },
			[]string{"2", "1"}},
		"WhileSynced": {"what changes while it is synced is preferred when that is done",
			func(q *queue) {
				q.Add(numbered(1))
				id, _ := q.Get()
				q.Add(numbered(2))
				q.addFresh(id)
				q.Done(id)
			},
			[]string{"1", "2"}},
		"OnceOnly": {"the preference is for one time",
			func(q *queue) { q.addFresh(numbered(1)); take(q); q.Add(numbered(2)); q.Add(numbered(1)) },
			[]string{"2", "1"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			q := newQueue()
			defer q.ShutDown()
			c.add(q)
			if diff := cmp.Diff(c.want, take(q)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			if left := len(q.lanes.queued) + len(q.lanes.preferred); left > 0 {
				t.Errorf("%d entries are left behind", left)
			}
		})
	}
}

// TestQueueStarvesNobody: however many changes there are, the rest gets its turn.
func TestQueueStarvesNobody(t *testing.T) {
	q := newQueue()
	defer q.ShutDown()
	for i := range 100 {
		q.addFresh(numbered(i))
	}
	q.Add(numbered(1000))
	q.Add(numbered(1001))
	names := take(q)
	if first, second := slices.Index(names, "1000"), slices.Index(names, "1001"); first != freshInARow || second != 2*freshInARow+1 {
		t.Errorf("the others came in places %d and %d", first, second)
	}
}
