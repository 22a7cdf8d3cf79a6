package memory

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Memory is what this process remembers of its writes, and of what it has seen of Works. It decides only when to
// write, and no deletion rests on it. A new process begins with an empty one.
type Memory struct {
	clock clock.Clock
	contests
	clusters

	mu sync.Mutex
	of map[render.Identity]*source
}

// New returns an empty Memory.
func New(c clock.Clock) *Memory {
	return &Memory{clock: c, contests: newContests(c), clusters: newClusters(c), of: map[render.Identity]*source{}}
}

// work is what is remembered of the Work of a source on a cluster. Each part is written by the functions of its file. Besides
// what the table says, all but deleted, ours, theirs, created and health are forgotten when the Work has left the cache (Forget),
// and all but sending, created, health and orphaning when its cluster is no longer a target (Retain).
//
//	field      since                             until                                        what a restart loses
//	sending    a request is sent                 its answer                                   –
//	expected   a write succeeded                 the watch has shown it, or AwaitCache; one   it is written again, once
//	                                             that admission has altered stays
//	parked     a write was refused               another succeeds; it is retried after        it is retried at once
//	                                             a while
//	strangers  a create found a Work that the    a write succeeds                             a create finds it again
//	           cache lacks, or one left it
//	woken      a Work was woken                  wakesAge                                     it may be woken again
//	deleted    another user has deleted it, or   it is there again                            it waits for its wave
//	           we have, to replace it
//	ours       we delete it                      another one is there                         deletions that are under way
//	                                                                                          count as another user's
//	theirs     another user deletes it           –                                            see deleted
//	created    a create was sent                 the watch has shown it, or forgetUnshown     the fence of a new leader
//	                                                                                          stands in for it
//	health     its source is in waves            it is not any more                           a bake begins again
//	edits      its object is edited in a member  the Work is written, or editsAge             the count begins again
//	orphaning  Karmada began to part it from     its cluster is away                          Karmada gets the time again
//	           its object
type work struct {
	sending   bool
	expected  *expectation
	parked    *parking
	strangers *strangers
	woken     *wake
	deleted   *state.Work
	ours      *deletionSent
	theirs    types.UID
	created   *creation
	health    *health
	edits     *edits
	orphaning orphaning
}

// source is what is remembered of a source.
//
//	field    since                              until                            what a restart loses
//	arrived  a user has changed it              a sync takes it                  all sources are synced
//	works    see work                           see work                         see work
//	stopped  a wave is not through              all are, or there are no more    the deadline begins again
//	lost     an override policy has gone, by    it is back, or is known to have  it is confirmed again
//	         the cache, or by a live list       gone
//	status   its status was written             statusTruce; a new term or           the next is written at once
//	                                            configuration
//	size     its replicas are divided           its manifest is no longer kept       it is decoded again
//	pending  its deletion waits for Works       it does not                          the notice is renewed
//	finalizer  our finalizer was set            the watch shows it                   a live list stands in for it
//	departed it has left the configuration      it has lost our finalizer, or is     a live list stands in for it
//	         with our finalizer                 back
type source struct {
	arrived             time.Time
	works               map[string]*work // by cluster
	stopped             time.Time
	lost                map[loss]time.Time
	status              *statusWrite
	size                *size
	pending             *pending
	finalizer, departed *Departure
}

func (s *source) isEmpty() bool {
	return s.arrived.IsZero() && len(s.works) == 0 && s.stopped.IsZero() && len(s.lost) == 0 && s.status == nil && s.size == nil && s.pending == nil && s.finalizer == nil && s.departed == nil
}

// change changes what is remembered of a Work, and forgets it if that is nothing.
func (s *source) change(cluster string, do func(*work)) {
	w := s.works[cluster]
	if w == nil {
		w = &work{}
	}
	switch do(w); {
	case *w == work{}:
		delete(s.works, cluster)
	case s.works == nil:
		s.works = map[string]*work{cluster: w}
	default:
		s.works[cluster] = w
	}
}

// each is change for all Works of which something is remembered.
func (s *source) each(do func(cluster string, w *work)) {
	for cluster, w := range s.works {
		if do(cluster, w); *w == (work{}) {
			delete(s.works, cluster)
		}
	}
}

// source returns what is remembered of a source, besides its Works.
func (m *Memory) source(id render.Identity) (s source) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.of[id]; known != nil {
		s = *known
	}
	s.works = nil
	return s
}

// read returns what is remembered of a Work.
func (m *Memory) read(id render.Identity, cluster string) (w work) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.of[id]; s != nil && s.works[cluster] != nil {
		w = *s.works[cluster]
	}
	return w
}

// changeSource changes what is remembered of a source, and forgets it if that is nothing. Do not call the Memory meanwhile.
func (m *Memory) changeSource(id render.Identity, do func(*source)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.of[id]
	if s == nil {
		s = &source{}
	}
	if do(s); s.isEmpty() {
		delete(m.of, id)
	} else {
		m.of[id] = s
	}
}

// change changes what is remembered of a Work.
func (m *Memory) change(id render.Identity, cluster string, do func(*work)) {
	m.changeSource(id, func(s *source) { s.change(cluster, do) })
}

// each changes what is remembered of the Works of a source.
func (m *Memory) each(id render.Identity, do func(cluster string, w *work)) {
	m.changeSource(id, func(s *source) { s.each(do) })
}

// sources changes what is remembered of all sources. Keep do short: it holds up all that ask.
func (m *Memory) sources(do func(render.Identity, *source)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, s := range m.of {
		if do(id, s); s.isEmpty() {
			delete(m.of, id)
		}
	}
}

// all changes what is remembered of all Works.
func (m *Memory) all(do func(id render.Identity, cluster string, w *work)) {
	var id render.Identity
	each := func(cluster string, w *work) { do(id, cluster, w) }
	m.sources(func(of render.Identity, s *source) {
		id = of
		s.each(each)
	})
}

// Overdue returns the sources to sync without an event: the watch has not shown a write in
// time, or a Work that a refused create has found must be read again.
func (m *Memory) Overdue() []render.Identity {
	return slices.Concat(m.unshown(), m.old())
}

// Forget drops what is known of the Work of a source on a cluster, except the contest about
// it, which continues when another writer deletes the Work each time, and who deletes it.
func (m *Memory) Forget(id render.Identity, cluster string) {
	m.change(id, cluster, func(w *work) {
		*w = work{deleted: w.deleted, ours: w.ours, theirs: w.theirs, created: w.created, health: w.health}
	})
}

// Shown notes that the watch has shown a Work.
func (m *Memory) Shown(shown *state.Work) {
	m.change(shown.Source, shown.Cluster, func(w *work) {
		w.expected = w.expected.after(shown)
		w.created = w.created.after(shown)
		if w.deleted = nil; w.ours != nil && w.ours.work != shown.UID {
			w.ours = nil
		}
	})
}

// Retain drops what is known of a source on clusters that are no longer targets. mayBeUnderWay: there may be a Work that
// the cache does not show. areKnown: the targets are what the source asks for.
func (m *Memory) Retain(id render.Identity, targets map[string]judge.Target, mayBeUnderWay, areKnown bool) {
	m.each(id, func(cluster string, w *work) {
		isReplaced := w.ours != nil && w.ours.replaces && len(targets) > 0
		switch _, isTarget := targets[cluster]; {
		case isTarget && isReplaced:
			w.ours = w.ours.since(time.Time{})
			return
		case isTarget:
			return
		case !areKnown:
		case isReplaced && !w.ours.isGivenUp(m.clock.Now()): // for a moment, perhaps
			w.ours = w.ours.since(cmp.Or(w.ours.absent, m.clock.Now()))
		default:
			w.deleted, w.ours, w.theirs = nil, nil, ""
		}
		if !mayBeUnderWay {
			w.expected, w.parked, w.strangers, w.woken = nil, nil, nil, nil
		}
	})
}

// Prune drops what is over, and frees the memory that maps keep for deleted entries.
func (m *Memory) Prune() {
	now := m.clock.Now()
	m.all(func(_ render.Identity, _ string, w *work) {
		if w.woken != nil && !now.Before(w.woken.until) {
			w.woken = nil
		}
		if w.ours.isGivenUp(now) {
			w.deleted, w.ours = nil, nil
		}
		if w.edits != nil && w.edits.isOver(now) {
			w.edits = nil
		}
		if w.created != nil && now.Sub(w.created.at) >= forgetUnshown {
			w.created = nil
		}
	})
	m.sources(func(_ render.Identity, s *source) {
		if s.status != nil && now.Sub(s.status.at) >= statusTruce {
			s.status = nil
		}
		if s.size != nil && s.size.of.Value() == nil {
			s.size = nil
		}
	})
	m.contests.prune()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of = Shrink(m.of)
}

// Shrink returns a copy of a map that takes no more memory than it needs. A map never shrinks, and maps.Clone
// copies what the deleted entries have left.
func Shrink[K comparable, V any](m map[K]V) map[K]V {
	small := make(map[K]V, len(m))
	maps.Copy(small, m)
	return small
}
