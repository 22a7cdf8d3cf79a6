package memory

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// Refusals are the refusals in force, or other reports about sources, so that each is reported once. They are beside the records,
// because metrics count them.
type Refusals struct {
	mu sync.Mutex
	of map[render.Identity][]judge.Refusal
	// inConflict are the sources that are refused because of a Work, by the names that it may have.
	inConflict map[string]sets.Set[render.Identity]
}

// Replace notes the current refusals of a source and returns the new ones.
func (r *Refusals) Replace(id render.Identity, now []judge.Refusal) []judge.Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	var fresh []judge.Refusal
	for _, refusal := range now {
		if !slices.ContainsFunc(r.of[id], refusal.Is) {
			fresh = append(fresh, refusal)
		}
	}
	r.index(id, now)
	if len(now) == 0 {
		delete(r.of, id)
		return nil
	}
	if r.of == nil {
		r.of = map[render.Identity][]judge.Refusal{}
	}
	r.of[id] = slices.Clone(now)
	return fresh
}

// index updates which sources wait for a Work.
func (r *Refusals) index(id render.Identity, now []judge.Refusal) {
	isConflict := func(x judge.Refusal) bool { return x.Reason == judge.WorkConflict }
	waited, waits := slices.ContainsFunc(r.of[id], isConflict), slices.ContainsFunc(now, isConflict)
	if waited == waits {
		return
	}
	if r.inConflict == nil {
		r.inConflict = map[string]sets.Set[render.Identity]{}
	}
	for _, name := range []string{id.WorkName(), id.LongWorkName()} {
		waiting := r.inConflict[name]
		switch {
		case waits && waiting == nil:
			r.inConflict[name] = sets.New(id)
		case waits:
			waiting.Insert(id)
		default:
			if waiting.Delete(id); waiting.Len() == 0 {
				delete(r.inConflict, name)
			}
		}
	}
}

// WaitingFor returns the sources that are refused because of a Work of that name.
func (r *Refusals) WaitingFor(name string) []render.Identity {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inConflict[name].UnsortedList()
}

// Clear forgets everything.
func (r *Refusals) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of, r.inConflict = nil, nil
}

// Of returns those of a source. Do not change them.
func (r *Refusals) Of(id render.Identity) []judge.Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[id]
}

// All returns the sources with some.
func (r *Refusals) All() []render.Identity {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.of))
}

// With returns the sources with a reason.
func (r *Refusals) With(reason judge.Reason) (sources []render.Identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, refusals := range r.of {
		if slices.ContainsFunc(refusals, func(x judge.Refusal) bool { return x.Reason == reason }) {
			sources = append(sources, id)
		}
	}
	return sources
}

// Counts counts the refused sources by reason, and those that the API server refuses by what
// refuses them.
func (r *Refusals) Counts() (all, denied map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, denied = map[string]int{}, map[string]int{}
	for _, refusals := range r.of {
		by := sets.Set[judge.Denial]{}
		for _, refusal := range refusals {
			all[string(refusal.Reason)]++
			by.Insert(refusal.Denied)
		}
		for denial := range by.Delete("") {
			denied[string(denial)]++
		}
	}
	return all, denied
}
