package gather

import (
	"iter"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// neededResources are the resources of the kinds that Pods need, all in the core group.
var neededResources = map[string]string{
	"ConfigMap": "configmaps", "Secret": "secrets", "ServiceAccount": "serviceaccounts", "PersistentVolumeClaim": "persistentvolumeclaims",
}

// addDependencies finds the objects that the Pods of a source need and that are not mirrored to
// all of its clusters.
func addDependencies(f *judge.Facts, namespace *state.Namespace, s store) {
	f.Dependencies = nil
	configuration := s.inForce()
	if configuration == nil || f.Unknown != "" || f.Source == nil || f.Source.Template == nil || f.Source.Refusal != nil {
		return
	}
	for _, id := range f.Source.Template.Needs() {
		resource, isConfigured := configuration.Resource(schema.GroupResource{Resource: neededResources[id.Kind]})
		isWatched := isConfigured && resource.SelectsNamespace(id.Namespace)
		o, isAbsent := s.needed(id)
		d := judge.Dependency{ID: id, Unwatched: !isWatched, OtherNamespaces: isConfigured && !isWatched, Absent: isAbsent && isWatched}
		needed := &judge.Source{ID: id}
		switch {
		case o == nil && !d.Absent && (isWatched || !namespace.Asks()): // the members may have it all the same
			continue
		case o != nil && (o.System == render.SystemOwn || o.System == render.SystemEverywhere || o.Claim() != ""): // others bring it to the members
			continue
		case o != nil && isWatched:
			needed = sourceOf(o, namespace, s)
		case o != nil: // another daemon may mirror it
			needed.Owner, _ = o.Owner()
		}
		if needed.Asks && needed.Refusal != nil { // its own Event reports that
			continue
		}
		if needed.Asks {
			d.Wishes = needed.Wishes
		}
		if d.Clusters = missingOf(f, needed, namespace, s); len(d.Clusters) > 0 {
			f.Dependencies = append(f.Dependencies, d)
		}
	}
}

// missingOf returns the clusters of a source to which neither an object that it needs is mirrored, nor the owner whose
// controller makes that object.
func missingOf(f *judge.Facts, needed *judge.Source, namespace *state.Namespace, s store) (clusters []string) {
	owner, _ := ownerOf(needed, namespace, s)
	works := s.worksOf(needed.ID)
	for name, facts := range f.Clusters {
		if facts.State != judge.ClusterJoined || facts.Forbidden || !f.Source.Terms.Matches(name, facts.Labels) {
			continue
		}
		isThere := slices.ContainsFunc(works, func(w *state.Work) bool { return w.Cluster == name && w.Foreign == "" })
		asks := needed.Asks && needed.Terms.Matches(name, facts.Labels) // its own Events report the outcome
		if !isThere && !asks && !owner.isOn(name, facts) {
			clusters = append(clusters, name)
		}
	}
	slices.Sort(clusters)
	return clusters
}

// Needing returns the workloads whose Pods need an object, as far as their content is known.
func (c *Caches) Needing(id render.Identity) iter.Seq[*state.Object] {
	return func(yield func(*state.Object) bool) {
		if !isNeeded(id.GroupKind()) {
			return
		}
		for _, w := range c.Sources() {
			for o := range each[state.Object](w.ByIndex(needsIndex, sourceBucket(id))) {
				if slices.Contains(o.Needs(), id) && !yield(o) {
					return
				}
			}
		}
		for _, o := range c.contents.withNeed(id) {
			if !yield(o) {
				return
			}
		}
	}
}

// isNeeded reports whether Pods need objects of a kind.
func isNeeded(kind schema.GroupKind) bool {
	return kind.Group == "" && neededResources[kind.Kind] != ""
}

// DependingOn returns the sources that may depend on objects of a kind without being of it: workloads
// whose Pods need such objects, those that the controllers of such objects made, and those whose Works leave the replicas to
// an autoscaler.
func (c *Caches) DependingOn(kind schema.GroupKind) sets.Set[render.Identity] {
	sources := sets.Set[render.Identity]{}
	if isNeeded(kind) {
		for _, w := range c.Sources() {
			for o := range Objects(w) {
				if len(c.contents.complete(o).Needs()) > 0 {
					sources.Insert(o.ID)
				}
			}
		}
	}
	for _, w := range c.Sources() {
		for _, owner := range w.IndexKeys(ownerIndex) {
			if id, err := render.ParseIdentity(owner); err == nil && id.GroupKind() == kind {
				for o := range each[state.Object](w.ByIndex(ownerIndex, owner)) {
					sources.Insert(o.ID)
				}
			}
		}
	}
	for o := range c.following(anyLeader) {
		sources.Insert(o.ID)
	}
	if state.IsAutoscaler(kind) {
		for w := range c.Works() {
			if w.NamesSource() && w.Retains() {
				sources.Insert(w.Source)
			}
		}
	}
	return sources
}

// needed does not tell what does not exist, see [judge.Dependency].
func (c *Caches) needed(id render.Identity) (o *state.Object, isAbsent bool) {
	w, unknown := c.watchOf(id)
	if unknown != "" {
		return nil, false
	}
	obj, exists, synced := w.Get(id.Namespace, id.Name)
	if o, ok := obj.(*state.Object); ok && exists && synced {
		return o, false
	}
	return nil, false
}

// needed reads an object. If that fails or is forbidden, the object is not known: only a notice depends on it.
func (r *reading) needed(id render.Identity) (o *state.Object, isAbsent bool) {
	if assumed := r.assumed[id]; assumed != nil {
		return state.NewObject(assumed.DeepCopy()), false
	}
	gvr := schema.GroupVersionResource{Version: "v1", Resource: neededResources[id.Kind]}
	u, err := r.client.Resource(gvr).Namespace(id.Namespace).Get(r.ctx, id.Name, metav1.GetOptions{})
	if err != nil {
		return nil, apierrors.IsNotFound(err) && render.SystemOfName(id) == render.NotSystem
	}
	return state.NewObject(u), false
}
