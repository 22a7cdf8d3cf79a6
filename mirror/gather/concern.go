package gather

import (
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Concerned are the objects, and the Namespaces of objects, that choose a cluster since it
// has changed, or did before. It was not there if before is nil, and is not if after is.
func (c *Caches) Concerned(before, after *state.Cluster) (objects []*state.Object, namespaces []*state.Namespace) {
	change := clusterChange{before, after}
	for _, w := range c.Sources() {
		objects = append(objects, change.objects(w)...)
	}
	return objects, change.namespaces(c.namespaces)
}

// clusterChange is a Cluster before and after; nil if it was not there, or is not.
type clusterChange struct{ before, after *state.Cluster }

// matters reports whether a change makes a difference to who chooses the cluster: those
// whose terms choose it now and did not, or did and do not; all that choose it if it
// came, went or is going.
func (c clusterChange) matters(chooses func(*state.Cluster) bool) bool {
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

// objects are those that the change concerns by their own terms.
func (c clusterChange) objects(among termed) (concerned []*state.Object) {
	for _, obj := range c.chosen(among) {
		o := obj.(*state.Object)
		terms := o.Terms()
		if c.matters(func(cluster *state.Cluster) bool { return terms.Matches(cluster.Name, cluster.Labels) }) {
			concerned = append(concerned, o)
		}
	}
	return concerned
}

// namespaces are those of which any term may make a difference to an object: the object may
// have replaced the others.
func (c clusterChange) namespaces(among termed) (concerned []*state.Namespace) {
	for _, obj := range c.chosen(among) {
		concerned = append(concerned, obj.(*state.Namespace))
	}
	return concerned
}

// chosen finds what has a term to which the change makes a difference: there are few terms.
func (c clusterChange) chosen(among termed) (all []any) {
	for _, key := range among.IndexKeys(termIndex) {
		if c.matters(func(cluster *state.Cluster) bool { return render.KeyMatches(key, cluster.Name, cluster.Labels) }) {
			all = append(all, among.ByIndex(termIndex, key)...)
		}
	}
	return all
}
