package gather

import (
	"slices"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// AffectedBy returns the objects, and the Namespaces, that choose a cluster now, or did before it
// changed, and for which the change matters. The cluster is new if before is nil, and deleted if
// after is nil.
func (c *Caches) AffectedBy(before, after *state.Cluster) (objects []*state.Object, namespaces []*state.Namespace) {
	change := clusterChange{before, after}
	for _, w := range c.Sources() {
		objects = append(objects, change.objects(w)...)
	}
	objects = append(objects, c.expanding(change)...)
	return objects, change.namespaces(c.namespaces)
}

// clusterChange is a Cluster before and after a change; nil if it did not exist, or no longer does.
type clusterChange struct{ before, after *state.Cluster }

// matters reports whether a change matters to a source that chooses clusters by these terms:
// the terms choose the cluster now and did not before, or the other way round. If the cluster
// was created, deleted or is being deleted, it matters to all that choose it.
func (c clusterChange) matters(chooses func(*state.Cluster) bool) bool {
	did, does := c.before != nil && chooses(c.before), c.after != nil && chooses(c.after)
	if c.before != nil && c.after != nil && c.before.UID == c.after.UID && c.before.Terminating == c.after.Terminating {
		return did != does // of what matters here, only its labels can have changed
	}
	return did || does
}

// termed is a set of objects, indexed by the terms that choose their clusters.
type termed interface {
	IndexKeys(index string) []string
	ByIndex(index, value string) []any
}

// objects returns those that the change concerns by their own terms, or because another annotation of theirs names the
// cluster. Either matters by itself: a suspended cluster is chosen, or not.
func (c clusterChange) objects(among termed) (concerned []*state.Object) {
	for _, obj := range c.chosen(among) {
		o := obj.(*state.Object)
		terms, others := o.Terms(), o.Wishes().OtherNames()
		chooses := func(cluster *state.Cluster) bool { return terms.Matches(cluster.Name, cluster.Labels) }
		names := func(cluster *state.Cluster) bool { return slices.Contains(others, cluster.Name) }
		if c.matters(chooses) || c.matters(names) {
			concerned = append(concerned, o)
		}
	}
	return concerned
}

// namespaces returns those with any term for which the change matters: an object in it may
// have replaced the other terms.
func (c clusterChange) namespaces(among termed) (concerned []*state.Namespace) {
	for _, obj := range c.chosen(among) {
		concerned = append(concerned, obj.(*state.Namespace))
	}
	return concerned
}

// expanding returns the objects whose Works there show what the cluster says about itself, if that
// has changed.
func (c *Caches) expanding(change clusterChange) (concerned []*state.Object) {
	if change.before == nil || change.after == nil || change.before.Member.Equal(change.after.Member) {
		return nil
	}
	for _, w := range c.Sources() {
		concerned = append(concerned, change.using(w)...)
	}
	for _, o := range c.contents.all() { // no index has them
		if slices.ContainsFunc(o.Variables(), change.alters) {
			concerned = append(concerned, o)
		}
	}
	return slices.DeleteFunc(concerned, func(o *state.Object) bool {
		n, _ := c.namespaceOf(o.ID)
		s := sourceOf(o, n, c)
		return !s.Differences.Expand || !s.Terms.Matches(change.after.Name, change.after.Labels)
	})
}

// using returns the objects with a variable that now stands for something else.
func (c clusterChange) using(among termed) (objects []*state.Object) {
	for _, variable := range among.IndexKeys(variableIndex) {
		if c.alters(variable) {
			objects = slices.AppendSeq(objects, each[state.Object](among.ByIndex(variableIndex, variable)))
		}
	}
	return objects
}

// alters reports whether what a variable stands for has changed.
func (c clusterChange) alters(variable string) bool {
	before, had := c.before.Member.Says(variable)
	after, has := c.after.Member.Says(variable)
	return before != after || had != has
}

// chosen returns everything with a term for which the change matters. There are few terms.
func (c clusterChange) chosen(among termed) (all []any) {
	for _, key := range among.IndexKeys(termIndex) {
		if c.matters(func(cluster *state.Cluster) bool { return render.KeyMatches(key, cluster.Name, cluster.Labels) }) {
			all = append(all, among.ByIndex(termIndex, key)...)
		}
	}
	return all
}
