// Package model computes what must be in the member clusters from nothing but what users
// have applied. The daemon is judged by it: it follows the contract (docs/reference), is
// short enough to check by eye, and shares no code with the daemon, which would only
// confirm itself.
package model

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/labels"
)

// World is what has been applied to the Karmada API server. Its contents never change, so
// that worlds can share them.
type World struct {
	Objects    map[Key]*Object
	Namespaces map[string]*Object
	Clusters   map[string]*Object // that have joined
	// Autoscalers maps those of Objects that set the replicas of another object to that
	// object.
	Autoscalers map[Key]Key
	// Lingering maps autoscalers in a cluster, whether or not they are still wanted, to
	// what they scale there: one that Stays was wanted before.
	Lingering map[Place]Key
	// Shares are the replicas that Works of divided objects say, when the world became what it is.
	Shares map[Place]int64
	// Policies are Karmada's override policies.
	Policies      map[Key]*Policy
	Configuration *Configuration
}

// Key names an object of a watched resource.
type Key struct{ Kind, Namespace, Name string }

// Place is an object in a cluster.
type Place struct {
	Key
	Cluster string
}

// Object is an object, a Namespace or a Cluster.
type Object struct {
	UID         string
	Annotations map[string]string
	Labels      map[string]string
	Content     *Content
	// Finalized: it has karmada-mirror's finalizer. Leaving: it also has been deleted.
	Finalized, Leaving bool
	// Orphaned: it was deleted with the definition of its kind, and no one has approved that.
	Orphaned bool
	// Region, Provider and Zones are in the spec of a Cluster.
	Region, Provider string
	Zones            []string
}

// Content is what is in an object, without what only concerns the control plane.
type Content struct {
	// Identity is what never differs by cluster: the API version, the kind and the name.
	Identity            string
	Payload             map[string]any
	Labels, Annotations map[string]string
}

// Configuration is the part of karmada-mirror's ConfigMap that decides what is mirrored.
type Configuration struct {
	// Namespaces are globs of the namespaces whose objects are mirrored.
	Namespaces []string
	// Without are kinds that are not mirrored at all.
	Without []string
	// Authorization is nil if everything is allowed.
	Authorization []Rule
	// Overrides says that override policies are honored.
	Overrides bool
}

// Rule allows sources in Namespaces with these labels to be mirrored to clusters whose
// names match one of the globs. Empty means all.
type Rule struct {
	NamespaceLabels map[string]string
	Clusters        []string
}

// State is what must be true of an object in a cluster.
type State int

// The states. The zero value means that whatever is there stays as it is: no one may write
// or delete it. Held: it may not be deleted either, but be marked for that.
const (
	Stays State = iota
	Absent
	Present
	Held
)

// Copy is an object in a cluster.
type Copy struct {
	UID     string
	Content *Content
	// Suspended, Preserved, Overwrites and Retains mean that Karmada does not apply it,
	// leaves it in the cluster when it is deleted, replaces what is there, and leaves its
	// replicas to the cluster.
	Suspended, Preserved, Overwrites, Retains bool
	// OverriddenBy are the policies that have changed it, by kind and name, in order.
	OverriddenBy string
}

// Of says what must be true of an object in a cluster, and what its copy looks like; for an
// Absent one, only whether it is Preserved. One that Stays because its content cannot be made has a
// UID, and the options that it gets all the same.
func (w *World) Of(k Key, cluster string) (State, Copy) {
	o := w.Objects[k]
	if o != nil && o.Orphaned {
		return Held, Copy{}
	}
	if !w.Includes(k) {
		return Stays, Copy{}
	}
	if o == nil {
		return Absent, Copy{}
	}
	if o.Labels[policyLabel] != "" && !o.Leaving {
		return Stays, Copy{} // until a policy's binding takes it over, and there are none here
	}
	asked, isWrong := ask(o, w.Namespaces[k.Namespace])
	switch {
	case o.Leaving:
		return Absent, Copy{Preserved: asked[preserveKey] == "true"}
	case isWrong:
		return Stays, Copy{}
	}
	joined := w.Clusters[cluster]
	fits, isUnsure, isCircle := w.fits(k, asked, cluster)
	switch {
	case isCircle, !fits && isUnsure:
		return Stays, Copy{}
	case !fits:
		if asked[selectorKey] != "" && joined == nil {
			return Stays, Copy{} // only its labels would tell whether it is selected
		}
		return Absent, Copy{Preserved: asked[preserveKey] == "true"}
	case !w.allows(k, cluster), joined == nil:
		return Stays, Copy{}
	}
	options := Copy{UID: o.UID, Suspended: asked.suspends(cluster), Preserved: asked[preserveKey] == "true"}
	content := o.Content
	if asked[expandKey] == "true" {
		var isKnown bool
		if content, isKnown = content.expanded(k.Kind, cluster, joined); !isKnown {
			return Stays, options // a variable stands for nothing here
		}
	}
	if share, isDivided := w.share(k, asked, cluster); isDivided {
		content = content.WithReplicas(share)
	}
	content, by, isPossible := w.overridden(k, content, cluster)
	if !isPossible {
		return Stays, options
	}
	like := options
	like.Content, like.OverriddenBy, like.Overwrites = content, by, asked[conflictKey] == "overwrite"
	like.Retains = strings.TrimSpace(asked[replicasKey]) == "retain" || w.isScaled(k, cluster)
	return Present, like
}

// Includes reports whether the configuration includes an object.
func (w *World) Includes(k Key) bool {
	return fits(w.Configuration.Namespaces, k.Namespace) && !slices.Contains(w.Configuration.Without, k.Kind)
}

// Finalizer says whether an object must have karmada-mirror's finalizer once its copies are as they
// must be. A Leaving object must not even exist.
func (w *World) Finalizer(k Key) State {
	o := w.Objects[k]
	if !w.Includes(k) || o.Labels[policyLabel] != "" {
		return Stays
	}
	asked, isWrong := ask(o, w.Namespaces[k.Namespace])
	_, _, isCircle := w.fits(k, asked, "")
	switch {
	case isWrong || isCircle:
		return Stays
	case asked.asks() && asked[deletionKey] == "foreground":
		return Present
	}
	return Absent
}

// Replicas are those in the status of an object whose members have started all that they were asked
// for: their sum. It is not known if something must stay as it is in one of the clusters, since that
// may be anything, or is suspended there; nor if it is in none of them.
func (w *World) Replicas(k Key, clusters []string) (sum int64, isKnown bool) {
	for _, cluster := range clusters {
		switch state, like := w.Of(k, cluster); {
		case state == Stays, like.Suspended, like.Retains:
			return 0, false
		case state == Present:
			replicas, counts := like.Content.replicas()
			if !counts {
				return 0, false
			}
			sum, isKnown = sum+replicas, true
		}
	}
	return sum, isKnown
}

const (
	clustersKey = "karmada.target/clusters"
	selectorKey = "karmada.target/cluster-selector"
	suspendKey  = "karmada.target/suspend"
	preserveKey = "karmada.target/preserve-on-deletion"
	conflictKey = "karmada.target/conflict-resolution"
	replicasKey = "karmada.target/replicas"
	expandKey   = "karmada.target/expand"
	deletionKey = "karmada.target/deletion"
	// fenceKey is not an annotation: it holds what the Namespace's list excludes.
	fenceKey = "fence"
	// policyLabel is how Karmada's policies claim an object.
	policyLabel = "propagationpolicy.karmada.io/permanent-id"
)

// values are the words that an annotation may have as its value if it is present. Those of
// suspendKey and replicasKey may also be lists.
var values = map[string][]string{
	suspendKey: {"true", "false"}, preserveKey: {"true", "false"}, conflictKey: {"abort", "overwrite"}, replicasKey: {"retain", "divide"}, expandKey: {"true", "false"}, deletionKey: {"background", "foreground"},
}

// isMistake reports whether an annotation may not have a value.
func isMistake(key, value string) bool {
	allowed := values[key]
	if allowed == nil || slices.Contains(allowed, value) || key == replicasKey && slices.Contains(allowed, strings.TrimSpace(value)) {
		return false
	}
	_, areWeights := weights(value)
	in, _ := split(value)
	areClusters := len(in) > 0 && !slices.Contains(noClusters, strings.TrimFunc(value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }))
	return !isList(value) || !(key == suspendKey && areClusters || key == replicasKey && areWeights)
}

// noClusters are words that suspendKey does not take for the only cluster in a list: they are
// rather meant as "true" or "false".
var noClusters = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "t", "f", "1", "0", "enabled", "disabled"}

// request is what an object asks for: its own annotations, those of its Namespace that it
// does not have itself, and the Namespace's exclusions, which always hold.
type request map[string]string

// ask reads what an object and its Namespace ask for. An empty list of clusters on the
// object opts out of its Namespace's targets, and is a mistake if there are none.
func ask(o, namespace *Object) (r request, isWrong bool) {
	r = request{}
	list, hasList := o.Annotations[clustersKey]
	_, hasSelector := o.Annotations[selectorKey]
	isOut := hasList && strings.TrimSpace(list) == ""
	leaders, hasLeaders := o.Annotations[followsKey]
	if hasLeaders {
		r[followsKey], isWrong = leaders, strings.TrimSpace(leaders) == ""
	}
	for _, key := range []string{clustersKey, selectorKey, suspendKey, preserveKey, conflictKey, replicasKey, expandKey, deletionKey} {
		value, given := o.Annotations[key]
		if namespace != nil && !given && (!isOut || key != selectorKey) && (!hasLeaders || key != selectorKey && key != clustersKey) {
			value, given = namespace.Annotations[key]
		}
		if given {
			r[key] = value
			isWrong = isWrong || isMistake(key, value)
		}
	}
	if isOut && (hasSelector || hasLeaders || namespace.asks()) {
		delete(r, clustersKey)
	}
	isWrong = isWrong || !r.isSound()
	if namespace != nil && !isWrong && r.asks() {
		for _, term := range terms(namespace.Annotations[clustersKey]) {
			if strings.HasPrefix(term, "!") {
				r[fenceKey] += term + ","
			}
		}
	}
	return r, isWrong
}

// asks reports whether anything says where to mirror to.
func (r request) asks() bool {
	return r[clustersKey] != "" || r[selectorKey] != "" || r[followsKey] != ""
}

// asks reports whether a Namespace says where to mirror its objects.
func (o *Object) asks() bool {
	if o == nil {
		return false
	}
	_, list := o.Annotations[clustersKey]
	_, selector := o.Annotations[selectorKey]
	return list || selector
}

// isSound reports whether the targets can be read: no empty list or term, no list of only
// exclusions, no empty selector.
func (r request) isSound() bool {
	selector, selects := r[selectorKey]
	if _, err := labels.Parse(selector); selects && (err != nil || strings.TrimSpace(selector) == "") {
		return false
	}
	list, given := r[clustersKey]
	if !given {
		return true
	}
	in, _ := split(list)
	return (selects || len(in) > 0) && isList(list)
}

// isList reports whether a list has terms, not too many, and no empty one but the last.
func isList(list string) bool {
	list = strings.TrimSuffix(strings.TrimSpace(list), ",")
	return len(terms(list)) == strings.Count(list, ",")+1 && len(terms(list)) <= 1024
}

// fits reports whether a request includes a cluster. Exclusions win.
func (r request) fits(name string, joined *Object) bool {
	selected := false
	if selector, err := labels.Parse(r[selectorKey]); err == nil && r[selectorKey] != "" && joined != nil {
		selected = joined.isSelected(selector)
	}
	in, out := split(r[clustersKey] + "," + r[fenceKey])
	return (selected || fits(in, name)) && !fits(out, name)
}

// split returns the globs of a list, and those of its exclusions.
func split(list string) (in, out []string) {
	for _, term := range terms(list) {
		if glob, isOut := strings.CutPrefix(term, "!"); isOut {
			out = append(out, glob)
		} else {
			in = append(in, term)
		}
	}
	return in, out
}

// terms returns the terms of a list.
func terms(list string) (all []string) {
	for term := range strings.SplitSeq(list, ",") {
		if term = strings.TrimSpace(term); term != "" {
			all = append(all, term)
		}
	}
	return all
}

// fits reports whether a name matches one of the globs.
func fits(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		matches, err := path.Match(glob, name)
		return err == nil && matches
	})
}

// allows reports whether a rule of the configuration allows an object in a cluster.
func (w *World) allows(k Key, cluster string) bool {
	var namespaceLabels labels.Set
	if n := w.Namespaces[k.Namespace]; n != nil {
		namespaceLabels = n.Labels
	}
	return w.Configuration.Authorization == nil || slices.ContainsFunc(w.Configuration.Authorization, func(r Rule) bool {
		return labels.SelectorFromSet(r.NamespaceLabels).Matches(namespaceLabels) && (len(r.Clusters) == 0 || fits(r.Clusters, cluster))
	})
}

// isScaled reports whether an autoscaler of an object is in a cluster.
func (w *World) isScaled(k Key, cluster string) bool {
	for autoscaler, scaled := range w.Autoscalers {
		if scaled != k {
			continue
		}
		if state, _ := w.Of(autoscaler, cluster); state == Present {
			return true
		}
	}
	for place, scaled := range w.Lingering {
		if scaled != k || place.Cluster != cluster {
			continue
		}
		if state, _ := w.Of(place.Key, cluster); state == Stays {
			return true
		}
	}
	return false
}
