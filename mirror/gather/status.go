package gather

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Believe notes that what some Works report is about their sources, however long it stays as it is.
func (c *Caches) Believe(reports []*state.Report) {
	for _, report := range reports {
		c.reports.Believe(report)
	}
}

// keepObject reduces an object to what the cache keeps, and notes what it says of its status if
// that is aggregated.
func (c *Caches) keepObject(keep func(*unstructured.Unstructured) *state.Object) func(*unstructured.Unstructured) *state.Object {
	return func(u *unstructured.Unstructured) *state.Object {
		var source *state.SourceStatus
		if c.Aggregates(u.GroupVersionKind().GroupKind()) {
			source = state.NewSourceStatus(u) // before u is reduced
		}
		o := keep(u)
		if source != nil && c.Asks(o) {
			c.reports.NoteSource(source)
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
		c.reports.Note(state.NewReport(u), c.options.Clock.Now())
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
	source, err := c.sourceStatusOf(ctx, j.Facts.Source)
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

// sourceStatusOf returns what a source says of its status; nil if the source no longer exists.
func (c *Caches) sourceStatusOf(ctx context.Context, s *judge.Source) (*state.SourceStatus, error) {
	if known := c.reports.Source(s.ID, s.ResourceVersion); known != nil {
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
	source := state.NewSourceStatus(u)
	c.reports.NoteSource(source)
	return source, nil
}

// reportOf returns what a Work reports; nil if it no longer exists.
func (c *Caches) reportOf(ctx context.Context, w *state.Work) (*state.Report, error) {
	if known := c.reports.Of(w); known != nil {
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
	c.reports.Note(report, c.options.Clock.Now())
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
	c.reports.Prune(func(id render.Identity) bool {
		w, _ := c.watchOf(id)
		if w == nil || !c.Aggregates(id.GroupKind()) {
			return false
		}
		_, exists, synced := w.Get(id.Namespace, id.Name)
		return exists || !synced
	}, func(uid types.UID) bool { return works[uid] })
}
