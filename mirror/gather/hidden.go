package gather

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// hidden is what the user of a Reader may not read. RBAC cannot grant the Works of one tenant
// alone, so a tenant sees the Works for a cluster only if they may see everyone's.
type hidden struct {
	things sets.Set[string]
	// works are the clusters whose Works are hidden.
	works sets.Set[string]
}

func newHidden() hidden { return hidden{things: sets.New[string](), works: sets.New[string]()} }

// clustersHidden is what Hidden says if the user may not list the clusters.
const clustersHidden = "the Clusters"

// Hidden lists what was skipped because the user may not read it; empty if nothing was.
func (r *Reader) Hidden() []string {
	all := sets.List(r.hidden.things)
	switch clusters := sets.List(r.hidden.works); {
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
