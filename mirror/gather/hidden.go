package gather

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// hidden is what the user of a Reader may not read. RBAC cannot grant the Works of one tenant
// alone, so that a tenant sees those of a cluster only where they may see everybody's.
type hidden struct {
	things sets.Set[string]
	// works are the clusters whose Works are hidden.
	works sets.Set[string]
}

func newHidden() hidden { return hidden{things: sets.New[string](), works: sets.New[string]()} }

// clustersHidden is what Hidden says where nobody may tell which clusters there are.
const clustersHidden = "the Clusters"

// Hidden lists what the user may not read and what therefore was left out; none if nothing was.
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

// HidesClusters reports whether the user may not read which clusters there are.
func (r *Reader) HidesClusters() bool { return r.hidden.things.Has(clustersHidden) }

// Hide notes that something may not be read.
func (r *Reader) Hide(what string) { r.hidden.things.Insert(what) }

// hideWorks leaves out the Works for a cluster from now on.
func (r *Reader) hideWorks(cluster string) { r.hidden.works.Insert(cluster) }

// visibleClusters are those whose Works may be readable.
func (r *Reader) visibleClusters() []string {
	return slices.DeleteFunc(r.clusters.clusterNames(), r.HidesWorks)
}
