package gather

import (
	"iter"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

func (c *Caches) autoscalersOf(id render.Identity) iter.Seq[*state.Object] {
	var all []any
	for kind := range state.AutoscalerResources {
		if w, unknown := c.watchOf(render.Identity{Group: kind.Group, Kind: kind.Kind, Namespace: id.Namespace}); unknown == "" {
			all = append(all, w.ByIndex(scaleIndex, id.String())...)
		}
	}
	return each[state.Object](all)
}

func (c *Caches) worksScaling(f *judge.Facts) iter.Seq[*state.Work] {
	return each[state.Work](c.works.ByIndex(scaleIndex, f.ID.String()))
}

// isScalable reports whether an object may be scaled: in the core group, only a ReplicationController is.
func isScalable(id render.Identity) bool {
	return id.Namespace != "" && (id.Group != "" || id.Kind == "ReplicationController")
}

// addAutoscalers marks the clusters to which the autoscalers of a source are to be mirrored.
func addAutoscalers(f *judge.Facts, namespace *state.Namespace, s store) {
	if f.Source == nil || !f.Source.Asks || !isScalable(f.ID) {
		return
	}
	place := config.Source{Namespace: f.ID.Namespace, NamespaceLabels: namespace.Labels}
	for o := range s.autoscalersOf(f.ID) {
		place.Resource = state.AutoscalerResources[o.ID.GroupKind()].GroupResource().String()
		scaleBy(f, sourceOf(o, namespace, s), s.inForce(), place)
	}
}

// scaleBy marks the clusters to which an autoscaler of the source is to be mirrored, so that
// the source is ready before the autoscaler arrives.
func scaleBy(f *judge.Facts, autoscaler *judge.Source, configuration *config.Configuration, place config.Source) {
	if !autoscaler.Asks || autoscaler.Refusal != nil {
		return
	}
	for name, facts := range f.Clusters {
		if autoscaler.Terms.Matches(name, facts.Labels) && configuration.Allows(place, name) {
			scale(f, name, autoscaler.ID)
		}
	}
}

// scaleByWorks marks the clusters that have an autoscaler of the source, wanted or not: its
// deletion may be held, it may be refused by now, or be gone from the configuration. It sets
// replicas until it is deleted.
func scaleByWorks(f *judge.Facts, autoscalers iter.Seq[*state.Work]) {
	for w := range autoscalers {
		if _, ok := f.Clusters[w.Cluster]; ok && w.Foreign == "" {
			scale(f, w.Cluster, w.Source)
		}
	}
}

// scale marks a cluster: of several autoscalers, always with the same. A member may not serve the kind of those of KEDA.
func scale(f *judge.Facts, cluster string, autoscaler render.Identity) {
	facts := f.Clusters[cluster]
	w, isUnknown := f.Works[cluster], facts.Kinds == "" && autoscaler.GroupKind() == state.ScaledObjectKind
	if facts.Kinds.Lack(autoscaler.GroupKind()) || isUnknown && w != nil && !w.Retains() { // for a moment, it is as it was
		return
	}
	if facts.ScaledBy == (render.Identity{}) || autoscaler.String() < facts.ScaledBy.String() {
		facts.ScaledBy = autoscaler
		f.Clusters[cluster] = facts
	}
}
