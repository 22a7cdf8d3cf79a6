package gather

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// statuses keeps what sources and Works say of statuses, for kinds whose statuses are
// aggregated. The caches of sources and Works do not keep it, since for all other kinds it would
// only take memory. An entry may be missing, after a change of the configuration for example, and
// then the object is read. It is never wrong: it has the resource version that the cache has, or
// a later one.
type statuses struct {
	mu        sync.Mutex
	standings map[render.Identity]*state.SourceStatus
	reports   map[types.UID]*state.Report
	// first is what was first seen to be reported on each Work since it is made from its source, until that
	// is renewed.
	first map[types.UID][]byte
}

func (s *statuses) noteStanding(now *state.SourceStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standings == nil {
		s.standings = map[render.Identity]*state.SourceStatus{}
	}
	if known, ok := s.standings[now.ID]; !ok || !state.IsOlder(now.Version, known.Version) {
		s.standings[now.ID] = now
	}
}

func (s *statuses) noteReport(now *state.Report, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reports == nil {
		s.reports, s.first = map[types.UID]*state.Report{}, map[types.UID][]byte{}
	}
	known, ok := s.reports[now.Work]
	if now.Seen = at; ok && known.Source == now.Source && known.Written.Equal(now.Written) {
		now.Seen = known.Seen
	}
	now.Ran = now.Ran || ok && known.Source == now.Source && known.Ran
	switch {
	case ok && state.IsOlder(now.Version, known.Version):
		return
	case !ok || known.Source != now.Source, now.Suspended && !known.Renewed: // the object changes by itself, without the Work
		s.first[now.Work] = now.Status
	case known.Renewed || !bytes.Equal(s.first[now.Work], now.Status):
		now.Renewed = true
		delete(s.first, now.Work)
	default:
		now.Status = s.first[now.Work] // one copy is enough
	}
	s.reports[now.Work] = now
}

// believe notes that what a Work reports has been found to be about its source.
func (s *statuses) believe(report *state.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.reports[report.Work]
	if !ok || known.Source != report.Source || known.Renewed {
		return
	}
	believed := *known
	believed.Renewed = true
	s.reports[report.Work] = &believed
	delete(s.first, report.Work)
}

// Believe notes that what some Works report is about their sources, however long it stays as it is.
func (c *Caches) Believe(reports []*state.Report) {
	for _, report := range reports {
		c.statuses.believe(report)
	}
}

// standing returns what a source says, in the given version or a later one; nil if that is not
// known.
func (s *statuses) standing(id render.Identity, version string) *state.SourceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.standings[id]; ok && !state.IsOlder(known.Version, version) {
		return known
	}
	return nil
}

// report returns what a Work says, in the cached version or a later one; nil if that is not known.
func (s *statuses) report(w *state.Work) *state.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.reports[w.UID]; ok && !state.IsOlder(known.Version, w.ResourceVersion) {
		return known
	}
	return nil
}

// prune drops what is no longer needed, and frees the memory that maps keep for deleted entries.
func (s *statuses) prune(isSource func(render.Identity) bool, isWork func(types.UID) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	standings, reports, first := map[render.Identity]*state.SourceStatus{}, map[types.UID]*state.Report{}, map[types.UID][]byte{}
	for id, of := range s.standings {
		if isSource(id) {
			standings[id] = of
		}
	}
	for uid, of := range s.reports {
		if isWork(uid) {
			reports[uid] = of
			if status, ok := s.first[uid]; ok {
				first[uid] = status
			}
		}
	}
	s.standings, s.reports, s.first = standings, reports, first
}

// keepObject reduces an object to what the cache keeps, and notes what it says of its status if
// that is aggregated.
func (c *Caches) keepObject(keep func(*unstructured.Unstructured) *state.Object) func(*unstructured.Unstructured) *state.Object {
	return func(u *unstructured.Unstructured) *state.Object {
		var standing *state.SourceStatus
		if c.Aggregates(u.GroupVersionKind().GroupKind()) {
			standing = state.NewSourceStatus(u) // before u is reduced
		}
		o := keep(u)
		if standing != nil && c.Asks(o) {
			c.statuses.noteStanding(standing)
		}
		return o
	}
}

// keepWork reduces a Work to what the cache keeps, and notes what it reports if that is
// aggregated. The Works of a restart may come before the configuration: what they report is noted
// until the next pruning, so that it need not be read.
func (c *Caches) keepWork(u *unstructured.Unstructured) *state.Work {
	w := state.NewWork(u)
	if !c.IsConfigured() || c.Aggregates(w.Source.GroupKind()) {
		c.statuses.noteReport(state.NewReport(u), c.options.Clock.Now())
	}
	return w
}

// Aggregates reports whether the statuses of a kind are aggregated, by the configuration in force.
func (c *Caches) Aggregates(kind schema.GroupKind) bool {
	configuration := c.configuration.Load()
	if configuration == nil || !configuration.AggregatesStatus() {
		return false
	}
	resource, ok := configuration.Resource(c.resourceOf(render.Identity{Group: kind.Group, Kind: kind.Kind}))
	return ok && resource.AggregateStatus
}

// Reports returns what the status of a judged source is made from. It reads what is not kept.
func (c *Caches) Reports(ctx context.Context, j judge.Judgement) (judge.Reports, error) {
	r := judge.Reports{Works: map[string]*state.Report{}}
	source, err := c.standingOf(ctx, j.Facts.Source)
	if err != nil || source == nil {
		return r, err
	}
	for _, cluster := range j.Reporting() {
		w := j.Facts.Works[cluster]
		if w == nil {
			continue
		}
		if r.Works[cluster], err = c.reportOf(ctx, w); err != nil {
			return r, err
		}
	}
	r.Source = source
	return r, nil
}

// standingOf returns what a source says of its status; nil if the source no longer exists.
func (c *Caches) standingOf(ctx context.Context, s *judge.Source) (*state.SourceStatus, error) {
	if known := c.statuses.standing(s.ID, s.ResourceVersion); known != nil {
		return known, nil
	}
	w, _ := c.watchOf(s.ID)
	if w == nil {
		return nil, nil // it has just left the configuration
	}
	u, err := c.options.Dynamic.Resource(w.Status().Served.Resource).Namespace(s.ID.Namespace).Get(ctx, s.ID.Name, metav1.GetOptions{})
	switch {
	case ProvesAbsence(err, s.ID.Name):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read the status of source %q: %w", s.ID, err)
	}
	standing := state.NewSourceStatus(u)
	c.statuses.noteStanding(standing)
	return standing, nil
}

// reportOf returns what a Work reports; nil if it no longer exists.
func (c *Caches) reportOf(ctx context.Context, w *state.Work) (*state.Report, error) {
	if known := c.statuses.report(w); known != nil {
		return known, nil
	}
	u, err := c.options.Dynamic.Resource(render.WorksResource).Namespace(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
	switch {
	case ProvesAbsence(err, w.Name):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read what Work %s/%s reports: %w", w.Namespace, w.Name, err)
	case u.GetUID() != w.UID:
		return nil, nil // the watch will show this one
	}
	report := state.NewReport(u)
	c.statuses.noteReport(report, c.options.Clock.Now())
	return report, nil
}

// pruneStatuses drops what is kept of sources and Works that are gone, or no longer aggregated.
func (c *Caches) pruneStatuses() {
	works := map[types.UID]bool{}
	for w := range c.Works() {
		if c.Aggregates(w.Source.GroupKind()) {
			works[w.UID] = true
		}
	}
	if !c.works.Status().Synced { // its watch starts again: nothing is known to be gone
		return
	}
	c.statuses.prune(func(id render.Identity) bool {
		w, _ := c.watchOf(id)
		if w == nil || !c.Aggregates(id.GroupKind()) {
			return false
		}
		_, exists, synced := w.Get(id.Namespace, id.Name)
		return exists || !synced
	}, func(uid types.UID) bool { return works[uid] })
}
