package mirror

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"

	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// maxEventMessage is what the API server accepts in an Event.
const maxEventMessage = 1024

// refused remembers the refusals in force, so that each cause is told once.
type refused struct {
	mu sync.Mutex
	of map[render.Identity][]Refusal
}

// replace notes the refusals of a source and returns those that are new.
func (r *refused) replace(id render.Identity, now []Refusal) []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	var fresh []Refusal
	for _, refusal := range now {
		if !slices.Contains(r.of[id], refusal) {
			fresh = append(fresh, refusal)
		}
	}
	if len(now) == 0 {
		delete(r.of, id)
		return nil
	}
	if r.of == nil {
		r.of = map[render.Identity][]Refusal{}
	}
	r.of[id] = slices.Clone(now)
	return fresh
}

func (r *refused) isInForce(id render.Identity, refusal Refusal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.of[id], refusal)
}

func (r *refused) by(reason Reason) []render.Identity {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []render.Identity
	for id, refusals := range r.of {
		if slices.ContainsFunc(refusals, func(x Refusal) bool { return x.Reason == reason }) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (r *refused) all() []render.Identity {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.of))
}

func (r *refused) counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := map[string]int{}
	for _, refusals := range r.of {
		for _, refusal := range refusals {
			counts[string(refusal.Reason)]++
		}
	}
	return counts
}

// report tells the source's owner by an Event, and the log, what is new.
func (c *Controller) report(f Facts, refusals, notices []Refusal) {
	c.tell("refused", f, &c.refused, refusals)
	c.tell("cannot be carried out yet", f, &c.noticed, notices)
}

func (c *Controller) tell(what string, f Facts, told *refused, now []Refusal) {
	for _, r := range told.replace(f.ID, now) {
		log := c.logger(f.ID)
		if r.elsewhere {
			log = c.failures.With(identify(f.ID)...) // there may be very many
		}
		log.Warn(what, zap.String("reason", string(r.Reason)), zap.String("message", r.Message))
		if f.Source != nil && !r.elsewhere {
			c.announcements.add(announcement{of: told, id: f.ID, about: c.reference(f.Source), refusal: r})
		}
	}
}

func (c *Controller) reference(s *Source) *corev1.ObjectReference {
	ref := &corev1.ObjectReference{Kind: s.ID.Kind, Namespace: s.ID.Namespace, Name: s.ID.Name, UID: s.UID, ResourceVersion: s.ResourceVersion}
	if w, ok := c.sources.ByKind(s.ID.GroupKind()); ok {
		ref.APIVersion = w.Status().Served.Resource.GroupVersion().String()
	}
	return ref
}

func (c *Controller) resourceOf(id render.Identity) string {
	if w, ok := c.sources.ByKind(id.GroupKind()); ok {
		return w.Resource.GroupResource.String()
	}
	return c.resourceOfKind(id.GroupKind()).String()
}

func (c *Controller) logger(id render.Identity) *zap.Logger {
	return c.Logger.With(identify(id)...)
}

func identify(id render.Identity) []zap.Field {
	return []zap.Field{zap.Stringer("kind", id.GroupKind()), zap.String("namespace", id.Namespace), zap.String("name", id.Name)}
}

// Sparing makes a logger that logs the first ten lines of the same message in a
// minute, and every hundredth of the others.
func Sparing() zap.Option {
	return zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Minute, 10, 100)
	})
}

// reportHeld tells administrators what to do.
func (c *Controller) reportHeld(resource string, pending int) {
	message := fmt.Sprintf("%d deletions of Works of %s are due, more than deletion.holdAbove allows or with their definition: all are held. "+
		"See them with `karmada-mirror deletions list`, let them go with `karmada-mirror deletions approve --resource %s`", pending, resource, resource)
	c.Logger.Warn("deletions held", zap.String("resource", resource), zap.Int("works", pending))
	if subject := c.Subject(); subject != nil {
		c.Recorder.Event(subject, corev1.EventTypeWarning, string(DeletionHeld), message)
	}
}

// snapshot counts the caches for the metrics.
func (c *Controller) snapshot() metrics.Snapshot {
	s := metrics.Snapshot{Works: map[metrics.WorkKey]int{}, Refused: c.refused.counts(), Held: map[string]int{}}
	for _, w := range c.sources.All() {
		asking := 0
		for _, obj := range w.List() {
			if obj.(*Source).Asks {
				asking++
			}
		}
		s.Watches = append(s.Watches, watchSnapshot(w, asking))
		s.Held[w.Resource.GroupResource.String()] = 0
	}
	for _, w := range c.fixed() {
		own := watchSnapshot(w, 0)
		own.Own = true
		s.Watches = append(s.Watches, own)
	}
	for _, obj := range c.works.List() {
		w := obj.(*Work)
		if w.Cluster == "" || w.State == WorkUnknown {
			continue // it bears our label and is no Work of ours
		}
		s.Works[metrics.WorkKey{Cluster: w.Cluster, State: w.State.String()}]++
		if w.Held != nil {
			s.Held[w.Held.Resource]++
		}
	}
	return s
}

func watchSnapshot(w *watch.Watch, sources int) metrics.Watch {
	status := w.Status()
	return metrics.Watch{
		Resource:  w.Resource.GroupResource.String(),
		State:     string(status.State),
		LastEvent: status.LastEvent,
		Sources:   sources,
	}
}

func errorOr(err error, otherwise string) error {
	if err != nil {
		return err
	}
	return errors.New(otherwise)
}
