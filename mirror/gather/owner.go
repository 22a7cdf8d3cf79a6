package gather

import (
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// owner is the object whose controller made another, as far as it is mirrored.
type owner struct {
	*judge.Source
	configuration *config.Configuration
	place         config.Source
}

// isOn reports whether the owner is to be mirrored to a cluster, where its controller then makes what it owns, unless the member
// does not serve its kind.
func (o owner) isOn(name string, facts judge.ClusterFacts) bool {
	return o.Source != nil && !facts.Kinds.Lack(o.ID.GroupKind()) && o.Terms.Matches(name, facts.Labels) && o.configuration.Allows(o.place, name)
}

// ownerOf returns the owner of an object; isKnown is false if one should be there that is not.
func ownerOf(of *judge.Source, namespace *state.Namespace, s store) (_ owner, isKnown bool) {
	if of.Owner == (render.Identity{}) || of.ID.GroupKind() == state.DefinitionKind { // which its objects need there all the same
		return owner{}, true
	}
	o, isKnown := s.owner(of.ID, of.Owner)
	if o != nil && o.IsOwnedBy(of.ID) { // in a circle, or by itself: no controller makes the first of them
		return owner{}, true
	}
	if o == nil || of.Asks && !of.Wishes.InheritsTargets() && !of.Wishes.TargetsAs(o.Wishes()) { // it has clusters of its own
		return owner{}, isKnown
	}
	if o.ID.Namespace == "" {
		namespace = &state.Namespace{}
	}
	source := sourceOf(o, namespace, s)
	if !source.Asks || source.Refusal != nil {
		return owner{}, true
	}
	return owner{source, s.inForce(), config.Source{Resource: s.ResourceOf(o.ID), Namespace: o.ID.Namespace, NamespaceLabels: namespace.Labels}}, true
}

// addOwner marks the clusters to which the owner of a source is to be mirrored, too: its controller there makes the source.
// An object that asks for clusters in words of its own, not those of its owner, is what its user wants.
func addOwner(f *judge.Facts, namespace *state.Namespace, s store) {
	if f.Source == nil || !f.Source.Asks {
		return
	}
	owner, isKnown := ownerOf(f.Source, namespace, s)
	if !isKnown && f.Unknown == "" {
		f.Unknown = "its owner " + f.Source.Owner.String() + " is not in the cache yet"
	}
	for name, facts := range f.Clusters {
		if owner.isOn(name, facts) {
			facts.Owner = owner.ID
			f.Clusters[name] = facts
		}
	}
}

// owner returns an object that may be mirrored, since its resource is watched. It is not known if a watch shows it late, or
// if it is gone: then what it owns is deleted soon.
func (c *Caches) owner(of, owner render.Identity) (o *state.Object, isKnown bool) {
	w, isWatched := c.sources.ByKind(owner.GroupKind())
	if !isWatched {
		return nil, true
	}
	if w.Status().Served.Namespaced {
		owner.Namespace = of.Namespace
	}
	if _, unknown := c.watchOf(owner); unknown != "" {
		return nil, true
	}
	o, _ = c.needed(owner)
	return o, o != nil
}

// OwnedBy returns the objects that say that the controller of another made them.
func (c *Caches) OwnedBy(id render.Identity) iter.Seq[render.Identity] {
	namespace := id.Namespace
	id.Namespace = ""
	return func(yield func(render.Identity) bool) {
		for _, w := range c.Sources() {
			for o := range each[state.Object](w.ByIndex(ownerIndex, id.String())) {
				if (namespace == "" || o.ID.Namespace == namespace) && !yield(o.ID) {
					return
				}
			}
		}
	}
}

func (r *reading) owner(of, owner render.Identity) (o *state.Object, isKnown bool) {
	mapping, err := r.mapper.RESTMapping(owner.GroupKind())
	if err != nil {
		return nil, true
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		owner.Namespace = of.Namespace
	}
	if !r.configuration.Includes(mapping.Resource.GroupResource(), owner.Namespace) {
		return nil, true
	}
	if assumed := r.assumed[owner]; assumed != nil {
		return state.NewObject(assumed.DeepCopy()), true
	}
	u, err := r.client.Resource(mapping.Resource).Namespace(owner.Namespace).Get(r.ctx, owner.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		return state.NewObject(u), true
	case apierrors.IsForbidden(err):
		r.Hide(owner.String())
	case !apierrors.IsNotFound(err):
		r.fail(err)
	}
	return nil, true
}

func (s *Files) owner(of, owner render.Identity) (o *state.Object, isKnown bool) {
	for _, namespace := range []string{of.Namespace, ""} {
		owner.Namespace = namespace
		if u := s.objects[owner]; u != nil && s.configuration.Includes(s.resourceOf(owner), namespace) {
			return state.NewObject(u.DeepCopy()), true
		}
	}
	return nil, true
}
