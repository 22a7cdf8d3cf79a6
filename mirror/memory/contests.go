package memory

import (
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

const (
	// uncontested is how often in a row the same is written without a pause. After that,
	// another writer evidently undoes it each time, and every further write waits twice as
	// long as the last, until there has been peace for longer than the longest pause.
	uncontested  = 10
	minContested = time.Second
	maxContested = 5 * time.Minute
	peace        = 2 * maxContested
)

// contests count how often in a row the same has been written to a Work, which shows that
// another writer changes it too.
type contests struct {
	clock clock.Clock
	seed  maphash.Seed

	mu sync.Mutex
	// by holds all recent writes, by the hash of source and cluster. There is an entry for
	// each Work that was written, so entries are small, and not parts of its record.
	by map[uint64]contest
}

// workKey identifies a Work by its source and its cluster.
type workKey struct {
	id      render.Identity
	cluster string
}

// contest counts how often in a row the same has been written, in vain.
type contest struct {
	write            uint64 // hash
	last             int64  // Unix nanoseconds
	writes, reported uint16 // reported: how many writes the last notice covers
	// deleted: we have deleted the Work since, because it was not asked for; comesAndGoes: that was so before the last write.
	deleted, comesAndGoes bool
}

func newContests(c clock.Clock) contests {
	return contests{clock: c, seed: maphash.MakeSeed(), by: map[uint64]contest{}}
}

// hash identifies a write, whenever its Work was written: what undoes it writes that, too.
func (c *contests) hash(w write) uint64 {
	w.written = 0
	return maphash.Comparable(c.seed, w)
}

// isOver reports whether there has been peace for so long that the contest has ended.
func (c contest) isOver(now time.Time) bool { return now.Sub(time.Unix(0, c.last)) > peace }

// pause returns how long from now the next write must wait.
func (c contest) pause(now time.Time) time.Duration {
	if c.writes < uncontested {
		return 0
	}
	pause := minContested
	for range c.writes - uncontested {
		pause = min(2*pause, maxContested)
	}
	return time.Unix(0, c.last).Add(pause).Sub(now)
}

// check returns how long a write that has been undone repeatedly must wait.
func (c *contests) check(k workKey, w write, now time.Time) (Holdback, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := maphash.Comparable(c.seed, k)
	of, ok := c.by[key]
	if !ok || of.write != c.hash(w) || of.isOver(now) {
		return Holdback{}, false
	}
	if of.last > now.UnixNano() { // the clock has been set back
		of.last = now.UnixNano()
		c.by[key] = of
	}
	pause := of.pause(now)
	if pause <= 0 {
		return Holdback{}, false
	}
	held := Holdback{Retry: pause}
	if of.reported != of.writes {
		held.Notice = noticeContested
	}
	return held, true
}

// Contested returns the clusters where the writes for a source keep being undone, sorted, by another writer of its Works, or since
// the source asks for them, and then does not, again and again; and for how long they count, from now, if there is peace.
func (c *contests) Contested(id render.Identity, targets map[string]judge.Target) (undone, comeAndGo []string, left time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for _, cluster := range slices.Sorted(maps.Keys(targets)) {
		if of := c.by[maphash.Comparable(c.seed, workKey{id, cluster})]; of.writes >= uncontested && !of.isOver(now) {
			if of.comesAndGoes {
				comeAndGo = append(comeAndGo, cluster)
			} else {
				undone = append(undone, cluster)
			}
			left = max(left, time.Unix(0, of.last).Add(peace+1).Sub(now))
		}
	}
	return undone, comeAndGo, left
}

// reported notes that a contest has been reported.
func (c *contests) reported(k workKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := maphash.Comparable(c.seed, k)
	if of, ok := c.by[key]; ok {
		of.reported = of.writes
		c.by[key] = of
	}
}

// count adds a write to the contest about a Work, or begins a new one.
func (c *contests) count(k workKey, w write, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := maphash.Comparable(c.seed, k)
	of := c.by[key]
	if hash := c.hash(w); of.write != hash || of.isOver(now) {
		of = contest{write: hash}
	}
	of.last, of.comesAndGoes, of.deleted = now.UnixNano(), of.deleted, false
	if of.writes < math.MaxUint16 {
		of.writes++
	}
	c.by[key] = of
}

// deleted notes that a Work is not asked for now: its contest goes on if the same is written again.
func (c *contests) deleted(k workKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := maphash.Comparable(c.seed, k)
	if of, ok := c.by[key]; ok {
		of.deleted = true
		c.by[key] = of
	}
}

// prune drops the contests that are over.
func (c *contests) prune() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, kept := c.clock.Now(), map[uint64]contest{}
	for key, of := range c.by {
		if !of.isOver(now) {
			kept[key] = of
		}
	}
	c.by = kept
}
