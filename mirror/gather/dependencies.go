package gather

import (
	"context"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// neededResources are those of what Pods need, all of the core group.
var neededResources = map[string]string{
	"ConfigMap": "configmaps", "Secret": "secrets", "ServiceAccount": "serviceaccounts", "PersistentVolumeClaim": "persistentvolumeclaims",
}

// inventory is where the objects are found that Pods need, and their Works.
type inventory interface {
	// needed is an object; nil if there is none, or that is not known.
	needed(id render.Identity) *state.Object
	worksOf(id render.Identity) []*state.Work
}

// addDependencies looks for what the Pods of a source need and does not go where it goes. What is
// not on the Karmada API server may be in the member by itself.
func addDependencies(f *judge.Facts, namespace *state.Namespace, configuration *config.Configuration, i inventory) {
	f.Dependencies = nil
	if f.Unknown != "" || f.Source == nil || f.Source.Template == nil || f.Source.Refusal != nil {
		return
	}
	for _, id := range f.Source.Template.Needs() {
		resource, ok := configuration.Resource(schema.GroupResource{Resource: neededResources[id.Kind]})
		if !ok || !resource.SelectsNamespace(id.Namespace) {
			if namespace.Asks() {
				f.Dependencies = append(f.Dependencies, judge.Dependency{ID: id})
			}
			continue
		}
		o := i.needed(id)
		if o == nil || o.System != render.NotSystem || o.Claim() != "" {
			continue
		}
		needed := judge.SourceOf(o, namespace.Wishes)
		if needed.Asks && needed.Refusal != nil { // that is told on it
			continue
		}
		if missing := missingOf(f, needed, i.worksOf(id)); len(missing) > 0 {
			d := judge.Dependency{ID: id, Clusters: missing}
			if needed.Asks {
				d.Wishes = needed.Wishes
			}
			f.Dependencies = append(f.Dependencies, d)
		}
	}
}

// missingOf are the clusters of a source to which what it needs is not mirrored.
func missingOf(f *judge.Facts, needed *judge.Source, works []*state.Work) (clusters []string) {
	for name, facts := range f.Clusters {
		if facts.State != judge.ClusterJoined || facts.Forbidden || !f.Source.Terms.Matches(name, facts.Labels) {
			continue
		}
		isThere := slices.ContainsFunc(works, func(w *state.Work) bool { return w.Cluster == name && w.Foreign == "" })
		asks := needed.Asks && needed.Terms.Matches(name, facts.Labels) // what comes of it is told on it
		if !isThere && !asks {
			clusters = append(clusters, name)
		}
	}
	slices.Sort(clusters)
	return clusters
}

// Needing are the workloads whose Pods need an object, as far as their content has been kept.
func (c *Caches) Needing(id render.Identity) iter.Seq[*state.Object] {
	return func(yield func(*state.Object) bool) {
		if neededResources[id.Kind] == "" || id.Group != "" {
			return
		}
		for _, w := range c.Sources() {
			for o := range each[state.Object](w.ByIndex(needsIndex, sourceBucket(id))) {
				if slices.Contains(o.Needs(), id) && !yield(o) {
					return
				}
			}
		}
	}
}

// needed implements inventory.
func (c *Caches) needed(id render.Identity) *state.Object {
	w, unknown := c.watchOf(id)
	if unknown != "" {
		return nil
	}
	obj, exists, synced := w.Get(id.Namespace, id.Name)
	if o, ok := obj.(*state.Object); ok && exists && synced {
		return o
	}
	return nil
}

// readInventory reads what it is asked for. What fails, or may not be read, is not known: it makes
// no difference but a notice.
type readInventory struct {
	*readSurroundings
	ctx context.Context
}

func (r readInventory) needed(id render.Identity) *state.Object {
	if assumed := r.assumed[id]; assumed != nil {
		return state.NewObject(assumed.DeepCopy())
	}
	gvr := schema.GroupVersionResource{Version: "v1", Resource: neededResources[id.Kind]}
	u, err := r.client.Resource(gvr).Namespace(id.Namespace).Get(r.ctx, id.Name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return state.NewObject(u)
}
