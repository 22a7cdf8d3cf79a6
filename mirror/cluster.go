package mirror

import (
	"maps"
	"slices"
	"strings"
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// ClustersResource is where member clusters are.
var ClustersResource = schema.GroupVersionResource{
	Group: clusterv1alpha1.GroupName, Version: clusterv1alpha1.GroupVersion.Version, Resource: clusterv1alpha1.ResourcePluralCluster,
}

// Cluster is what the cache keeps of a member cluster.
type Cluster struct {
	keptMeta
	Labels labels.Set
	// isReady: Karmada reaches it; readySince is since when it does, or does not.
	isReady    bool
	readySince time.Time
	// kinds are those that its API server serves, a line each, as far as Karmada knows;
	// empty if it does not know all. Most clusters share them.
	kinds string
}

// NewCluster reduces a Cluster to what is kept of it.
func NewCluster(obj *unstructured.Unstructured) *Cluster {
	cluster := &Cluster{keptMeta: keepMeta(obj), Labels: obj.GetLabels()}
	cluster.isReady, cluster.readySince = readiness(obj)
	cluster.kinds = shared(servedKinds(obj))
	return cluster
}

// sameMeaning reports whether a change from c to d makes no difference to any Work.
func (c *Cluster) sameMeaning(d *Cluster) bool {
	return c.UID == d.UID && c.Terminating == d.Terminating && maps.Equal(c.Labels, d.Labels)
}

// servedKinds reads what Karmada has collected. What may be incomplete is left out.
func servedKinds(obj *unstructured.Unstructured) string {
	var status clusterv1alpha1.ClusterStatus
	fields, _, _ := unstructured.NestedMap(obj.Object, "status")
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &status) != nil ||
		!meta.IsStatusConditionTrue(status.Conditions, clusterv1alpha1.ClusterConditionCompleteAPIEnablements) {
		return ""
	}
	var kinds []string
	for _, enablement := range status.APIEnablements {
		gv, err := schema.ParseGroupVersion(enablement.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range enablement.Resources {
			kinds = append(kinds, gv.WithKind(resource.Kind).GroupKind().String())
		}
	}
	slices.Sort(kinds)
	return "\n" + strings.Join(slices.Compact(kinds), "\n") + "\n"
}

// lacks reports whether a cluster is known not to serve a kind.
func (c *Cluster) lacks(kind schema.GroupKind) bool {
	return c.kinds != "" && !strings.Contains(c.kinds, "\n"+kind.String()+"\n")
}

func (c *Controller) newClusterWatch() *watch.Watch {
	return c.newWatch(watch.Options{
		Resource:  watch.In(ClustersResource),
		Resolver:  c.Resolver,
		Transform: watch.Keep(NewCluster),
		Handler:   watch.Handler{Changed: c.clusterChanged, Synced: c.enqueueEverything},
	})
}

// clusterChanged asks for a sync of exactly the sources that the change concerns.
func (c *Controller) clusterChanged(old, new any) {
	before, _ := old.(*Cluster)
	after, _ := new.(*Cluster)
	if before != nil && after != nil && !before.isReady && after.isReady {
		c.clusterRecovered(before, after)
	}
	if after == nil && before != nil {
		c.Metrics.ForgetCluster(before.Name)
	}
	change := clusterChange{before, after}
	for _, w := range c.sources.All() {
		for _, obj := range change.concerns(w) {
			c.enqueue(obj.(*Source).ID)
		}
	}
	for _, obj := range change.concerns(c.namespaces) {
		c.enqueueOutdatedIn(obj.(*Namespace).Name)
	}
}

// clusterChange is a Cluster before and after; nil if it was not there, or is not.
type clusterChange struct{ before, after *Cluster }

// matters reports whether a change makes a difference to who chooses the cluster: those
// whose terms choose it now and did not, or did and do not; all that choose it if it
// came, went or is going.
func (c clusterChange) matters(chooses func(*Cluster) bool) bool {
	did, does := c.before != nil && chooses(c.before), c.after != nil && chooses(c.after)
	if c.before != nil && c.after != nil && c.before.UID == c.after.UID && c.before.Terminating == c.after.Terminating {
		return did != does // nothing but its labels has changed
	}
	return did || does
}

// termed are objects with an index of the terms that they choose clusters by.
type termed interface {
	IndexKeys(index string) []string
	ByIndex(index, value string) []any
}

// concerns finds the objects that a change concerns by the few terms that there are.
func (c clusterChange) concerns(objects termed) []any {
	if c.before != nil && c.after != nil && c.before.sameMeaning(c.after) {
		return nil
	}
	var all []any
	for _, key := range objects.IndexKeys(termIndex) {
		if !c.matters(func(cluster *Cluster) bool { return render.KeyMatches(key, cluster.Name, cluster.Labels) }) {
			continue
		}
		for _, obj := range objects.ByIndex(termIndex, key) {
			terms := termsOf(obj)
			if c.matters(func(cluster *Cluster) bool { return terms.Matches(cluster.Name, cluster.Labels) }) {
				all = append(all, obj)
			}
		}
	}
	return all
}

// clusterFacts are those of a cluster for sources of a kind; there may be no such
// cluster.
func (c *Controller) clusterFacts(name string, kind schema.GroupKind) ClusterFacts {
	obj, found, _ := c.clusters.Get("", name)
	if !found {
		return ClusterFacts{}
	}
	return c.factsOf(obj.(*Cluster), kind)
}

func (c *Controller) factsOf(cluster *Cluster, kind schema.GroupKind) ClusterFacts {
	f := cluster.facts(kind)
	f.Recovery = c.recoveryOf(cluster)
	return f
}

func (c *Cluster) facts(kind schema.GroupKind) ClusterFacts {
	f := ClusterFacts{State: ClusterJoined, Labels: c.Labels, LacksKind: c.lacks(kind)}
	if c.Terminating {
		f.State = ClusterTerminating
	}
	return f
}
