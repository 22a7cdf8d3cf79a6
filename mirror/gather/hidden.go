package gather

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
)

// hidden is what the user of a Reader may not read. RBAC cannot grant the Works of one tenant
// alone, so a tenant sees the Works for a cluster only if they may see everyone's.
type hidden struct {
	things sets.Set[string]
	// works are the clusters whose Works are hidden.
	works sets.Set[string]
}

func newHidden() hidden { return hidden{things: sets.New[string](), works: sets.New[string]()} }

// What Hidden says if the user may not read the daemon's configuration, or list the clusters.
const (
	configurationHidden = "the daemon's configuration"
	clustersHidden      = "the Clusters"
)

// Hidden lists what was skipped because the user may not read it; empty if nothing was.
func (r *Reader) Hidden() []string { return r.list(r.hidden) }

// HiddenOf is Hidden without what makes no difference to the Works of a source that exist or that
// it asks for: the configuration, the Works for other clusters and, if the source names its
// clusters, the list of Clusters.
func (r *Reader) HiddenOf(f judge.Facts) []string {
	matters := hidden{things: r.hidden.things.Clone().Delete(configurationHidden), works: sets.New[string]()}
	if f.Source != nil && !f.Source.Terms.IsOpen() {
		matters.things.Delete(clustersHidden)
	}
	for _, cluster := range f.Targets() {
		if r.HidesWorks(cluster) {
			matters.works.Insert(cluster)
		}
	}
	return r.list(matters)
}

func (r *Reader) list(h hidden) []string {
	all := sets.List(h.things)
	switch clusters := sets.List(h.works); {
	case len(clusters) == 0:
	case len(clusters) == len(r.clusters):
		all = append(all, "the Works")
	default:
		all = append(all, "the Works for "+strings.Join(clusters, ", "))
	}
	return all
}

// HidesWorks reports whether the user may not read the Works for a cluster.
func (r *Reader) HidesWorks(cluster string) bool { return r.hidden.works.Has(cluster) }

// HidesClusters reports whether the user may not list the clusters.
func (r *Reader) HidesClusters() bool { return r.hidden.things.Has(clustersHidden) }

// Hide notes that the user may not read something.
func (r *Reader) Hide(what string) { r.hidden.things.Insert(what) }

// hideWorks skips the Works for a cluster from now on.
func (r *Reader) hideWorks(cluster string) { r.hidden.works.Insert(cluster) }

// visibleClusters returns the clusters whose Works the user may be able to read.
func (r *Reader) visibleClusters() []string {
	return slices.DeleteFunc(r.clusters.clusterNames(), r.HidesWorks)
}
