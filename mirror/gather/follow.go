package gather

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

const (
	// maxChain is how many objects may follow each other before the last leader, and maxVisits how many are looked at for one object.
	maxChain  = 3
	maxVisits = 32
)

// notSynced is why nothing is known of what follows others for a while.
const notSynced = "the resource of what it follows has not synced"

// sourceOf returns what an object asks for in a Namespace, and where it follows others.
func sourceOf(o *state.Object, namespace *state.Namespace, s store) *judge.Source {
	source := judge.SourceOf(o, namespace.Wishes)
	follow(source, namespace, s)
	return source
}

// follow adds the clusters of the leaders of a source. They are not known yet if a resource has not synced.
func follow(source *judge.Source, namespace *state.Namespace, s store) (isKnown bool) {
	if len(source.Wishes.Leaders()) == 0 {
		return true
	}
	w := walk{store: s, namespace: namespace, led: map[string]bool{}}
	w.follow(source, nil)
	if source.Leaders, source.Led = w.leaders, w.led; w.circle != nil {
		source.RefuseCircle(w.circle)
	}
	return !w.isEarly
}

// walk goes from a source to its leaders, and theirs.
type walk struct {
	store
	namespace *state.Namespace
	visits    int
	leaders   []render.Identity
	led       map[string]bool
	circle    []render.Identity
	// isEarly: a resource has not synced.
	isEarly bool
}

// follow takes the objects that have led to a source.
func (w *walk) follow(source *judge.Source, before []render.Identity) {
	if source.Refusal != nil || !source.Asks {
		return
	}
	path := append(slices.Clone(before), source.ID)
	for _, named := range source.Wishes.Leaders() {
		leader, doubt := w.lead(named, path)
		if w.circle != nil {
			return
		}
		if doubt != "" {
			source.Doubt, w.isEarly = doubt, w.isEarly || doubt == notSynced
		}
		if leader != nil {
			source.Follow(leader)
		}
	}
}

// lead finds a leader and what that follows. It returns nil if it does not exist, or with the reason why that is not known.
func (w *walk) lead(named render.Leader, path []render.Identity) (leader *judge.Source, doubt string) {
	if w.visits++; w.visits > maxVisits {
		return nil, fmt.Sprintf("it follows more than %d objects, by way of others", maxVisits)
	}
	kind, err := w.kindOf(named.Type)
	switch {
	case errors.Is(err, errNotSynced):
		return nil, notSynced
	case err != nil:
		return nil, fmt.Sprintf("%s, which it follows: %v", named, err)
	case kind == state.DefinitionKind:
		return nil, fmt.Sprintf("%s, which it follows: a definition goes where objects of its kind go: name one of these", named)
	}
	id := render.Identity{Group: kind.Group, Kind: kind.Kind, Namespace: path[0].Namespace, Name: named.Name}
	if i := slices.Index(path, id); i >= 0 {
		w.circle = append(path[i:], id)
		return nil, ""
	}
	if len(path) > maxChain {
		return nil, fmt.Sprintf("more than %d objects follow each other: %s", maxChain, id)
	}
	if !slices.Contains(w.leaders, id) {
		w.leaders = append(w.leaders, id)
		for _, work := range w.worksOf(id) {
			w.led[work.Cluster] = w.led[work.Cluster] || work.IsOursFor(id)
		}
	}
	o, unknown := w.leader(id)
	if unknown == notSynced {
		return nil, notSynced
	}
	if unknown != "" {
		return nil, fmt.Sprintf("%s, which it follows: %s", id, unknown)
	}
	if o == nil {
		return nil, ""
	}
	leader = judge.SourceOf(o, w.namespace.Wishes)
	w.follow(leader, path)
	return leader, ""
}

// errNotSynced is the error for a type that a resource may have that is not resolved yet.
var errNotSynced = errors.New(notSynced)

// otherScope is why an object is no leader.
const otherScope = "only objects with a namespace follow each other, and those without"

// isBuiltIn reports whether a group may be Kubernetes' own: only those need not be named, since others come and go.
func isBuiltIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// kindNamed finds the kind that a type means among resources.
func kindNamed(name string, resources iter.Seq2[schema.GroupResource, schema.GroupKind]) (kind schema.GroupKind, err error) {
	for resource, of := range resources {
		singular := strings.ToLower(of.Kind)
		isNamed := slices.Contains([]string{resource.String(), schema.GroupResource{Group: of.Group, Resource: singular}.String()}, name) ||
			isBuiltIn(of.Group) && slices.Contains([]string{resource.Resource, singular}, name)
		switch {
		case !isNamed || kind == of:
		case !kind.Empty():
			return kind, fmt.Errorf("%q may be %s or %s: name its group", name, kind, of)
		default:
			kind = of
		}
	}
	if kind.Empty() {
		return kind, fmt.Errorf("%q is not among the resources of the configuration that are served; name the group of what is not Kubernetes' own", name)
	}
	return kind, nil
}

func (c *Caches) kindOf(name string) (schema.GroupKind, error) {
	isEarly := false
	kind, err := kindNamed(name, func(yield func(schema.GroupResource, schema.GroupKind) bool) {
		for _, w := range c.sources.All() {
			kind := w.LastKind()
			isEarly = isEarly || kind.Empty() && !w.Status().Unserved
			if !kind.Empty() && !yield(w.Resource.GroupResource, kind) {
				return
			}
		}
	})
	if err != nil && isEarly {
		err = errNotSynced
	}
	return kind, err
}

func (c *Caches) leader(id render.Identity) (o *state.Object, unknown string) {
	w, unknown := c.watchOf(id)
	if unknown != "" {
		return nil, unknown
	}
	obj, exists, synced := w.Get(id.Namespace, id.Name)
	switch {
	case w.Status().Served.Namespaced != (id.Namespace != ""):
		return nil, otherScope
	case !synced:
		return nil, notSynced
	case !exists:
		return nil, ""
	}
	return obj.(*state.Object), ""
}

// leader reads it, once: that it is gone, or goes elsewhere, is what a deletion rests on.
func (p *proving) leader(id render.Identity) (o *state.Object, unknown string) {
	w, unknown := p.watchOf(id)
	switch {
	case unknown != "":
		return nil, unknown
	case w.Status().Served.Namespaced != (id.Namespace != ""):
		return nil, otherScope
	}
	p.mu.Lock()
	o, isKnown := p.leaders[id]
	p.mu.Unlock()
	if isKnown {
		return o, ""
	}
	o, err := p.readObject(p.ctx, w, id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.err = cmp.Or(p.err, err)
		return nil, "it cannot be read"
	}
	p.leaders[id] = o
	return o, ""
}

// leadersOf returns what is in the caches of the leaders of a source.
func (c *Caches) leadersOf(o *state.Object) (leaders []any) {
	namespace, _ := c.namespaceOf(o.ID)
	for _, id := range sourceOf(o, namespace, c).Leaders {
		leader, _ := c.leader(id)
		leaders = append(leaders, leader)
	}
	return leaders
}

// FollowersOf returns the objects that may follow another.
func (c *Caches) FollowersOf(id render.Identity) iter.Seq[*state.Object] {
	return c.following(id.Namespace + "/" + id.Name)
}

// anyLeader is the key of all objects that follow others.
const anyLeader = "*"

// following returns the objects with a key in followsIndex.
func (c *Caches) following(key string) iter.Seq[*state.Object] {
	return func(yield func(*state.Object) bool) {
		for _, w := range c.Sources() {
			for o := range each[state.Object](w.ByIndex(followsIndex, key)) {
				if !yield(o) {
					return
				}
			}
		}
	}
}

func indexByLeaders(obj any) (keys []string, err error) {
	if o, ok := obj.(*state.Object); ok && o.Wishes().Follows() {
		keys = []string{anyLeader}
		for _, leader := range o.Wishes().Leaders() {
			keys = append(keys, o.ID.Namespace+"/"+leader.Name)
		}
	}
	return keys, nil
}

func (r *reading) kindOf(name string) (schema.GroupKind, error) {
	if r.configuration == nil {
		gvk, err := r.mapper.KindFor(schema.ParseGroupResource(name).WithVersion(""))
		return gvk.GroupKind(), err
	}
	return kindNamed(name, func(yield func(schema.GroupResource, schema.GroupKind) bool) {
		for _, configured := range r.configuration.Resources {
			gvk, err := r.mapper.KindFor(configured.GroupResource().WithVersion(""))
			if err == nil && !yield(configured.GroupResource(), gvk.GroupKind()) {
				return
			}
		}
	})
}

func (r *reading) leader(id render.Identity) (o *state.Object, unknown string) {
	mapping, err := r.mapper.RESTMapping(id.GroupKind())
	switch {
	case err != nil:
		return nil, err.Error()
	case (mapping.Scope.Name() == meta.RESTScopeNameNamespace) != (id.Namespace != ""):
		return nil, otherScope
	}
	if unknown, _ = excluded(r.configuration, id, mapping.Resource.GroupResource()); unknown != "" {
		return nil, unknown
	}
	u := r.assumed[id]
	if u == nil {
		u, err = r.object(r.ctx, SourceRef{Mapping: mapping, Namespace: id.Namespace, Name: id.Name})
	}
	switch {
	case apierrors.IsForbidden(err):
		r.Hide(id.String())
		return nil, "you may not read it"
	case err != nil:
		r.fail(err)
		return nil, "it cannot be read"
	case u == nil:
		return nil, ""
	}
	return state.NewObject(u.DeepCopy()), ""
}

func (s *Files) kindOf(name string) (schema.GroupKind, error) {
	return kindNamed(name, func(yield func(schema.GroupResource, schema.GroupKind) bool) {
		for id := range s.objects {
			if !yield(s.resourceOf(id), id.GroupKind()) {
				return
			}
		}
	})
}

func (s *Files) leader(id render.Identity) (o *state.Object, unknown string) {
	o, _ = s.needed(id)
	return o, ""
}
