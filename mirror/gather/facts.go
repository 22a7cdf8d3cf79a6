package gather

import (
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// Facts gathers the facts about a source from the caches.
func (c *Caches) Facts(id render.Identity) judge.Facts {
	f, _ := c.byOneConfiguration(func() (judge.Facts, error) { return c.facts(id), nil })
	return f
}

// byOneConfiguration gathers facts again if the configuration has changed meanwhile: what one includes
// and what another allows is in neither of them.
func (c *Caches) byOneConfiguration(gather func() (judge.Facts, error)) (judge.Facts, error) {
	for {
		configuration := c.configuration.Load()
		if f, err := gather(); err != nil || c.configuration.Load() == configuration {
			return f, err
		}
	}
}

func (c *Caches) facts(id render.Identity) judge.Facts {
	f := judge.Facts{ID: id}
	w, unknown := c.watchOf(id)
	namespace, found := c.namespaceOf(id)
	switch {
	case w != nil:
		f.Version = w.Status().ResourceVersion // what comes in meanwhile is not in what is read next
		obj, exists, synced := w.Get(id.Namespace, id.Name)
		if !synced {
			f.Unknown = "its resource has not synced"
		}
		if o, ok := obj.(*state.Object); exists && ok {
			f.Source = judge.SourceOf(c.contents.complete(o), defaultsOf(id, namespace, c))
			if !found {
				f.Unknown = "its Namespace is not in the cache yet"
			}
		}
		if d, found, _ := c.customResources.Get("", w.Resource.String()); found {
			c.describe(&f, d.(*state.Definition))
		}
	case c.definitionIsGone(id):
		f.Definition = judge.DefinitionDeleted
	default:
		f.Unknown, f.Unwatched = unknown, true
	}
	reached := map[schema.GroupKind]string{} // before what is followed is read
	if f.Source != nil && f.Source.Wishes.Follows() {
		for _, w := range c.sources.All() {
			reached[w.LastKind()] = w.Status().ResourceVersion
		}
	}
	c.surround(&f, namespace, c)
	if len(reached) > 0 {
		for _, leader := range f.Source.Leaders {
			if version := reached[leader.GroupKind()]; state.IsOlder(version, f.Version) {
				f.Version = version
			}
		}
	}
	return f
}

// watchOf returns the watch for a source's kind, or says why there is none to rely on.
func (c *Caches) watchOf(id render.Identity) (*watch.Watch, string) {
	w, ok := c.sources.ByKind(id.GroupKind())
	if !ok {
		return nil, fmt.Sprintf("kind %q is not watched: its resource is not in the configuration, or the API server does not serve it", id.GroupKind())
	}
	resource, ok := c.configuration.Load().Resource(w.Resource.GroupResource)
	if isExempt(c.configuration.Load(), id) {
		return nil, fmt.Sprintf("the configuration does not take the definition %q along", id.Name)
	}
	if !ok || !resource.SelectsNamespace(id.Namespace) {
		return nil, fmt.Sprintf("the configuration does not include namespace %q for %q", id.Namespace, w.Resource.GroupResource)
	}
	return w, ""
}

func (c *Caches) inForce() *config.Configuration { return c.configuration.Load() }

// Includes reports whether the configuration in force includes a resource in a namespace.
func (c *Caches) Includes(r schema.GroupResource, namespace string) bool {
	return c.configuration.Load().Includes(r, namespace)
}

// IncludesSource reports whether the configuration includes a source.
func (c *Caches) IncludesSource(id render.Identity) bool {
	return c.Includes(c.resourceOf(id), id.Namespace)
}

// namespaceOf returns the Namespace of a source from the cache; found is true for a
// cluster-scoped source.
func (c *Caches) namespaceOf(id render.Identity) (n *state.Namespace, found bool) {
	if id.Namespace == "" {
		return &state.Namespace{}, true
	}
	obj, found, _ := c.namespaces.Get("", id.Namespace)
	if !found {
		return &state.Namespace{}, false
	}
	return obj.(*state.Namespace), true
}

// surround adds the Works and clusters that matter to a source in a Namespace. If a cache has
// not synced, the facts are Unknown: what it lacks may exist all the same.
func (c *Caches) surround(f *judge.Facts, namespace *state.Namespace, s store) {
	c.mustHaveSynced(f)
	defer c.mustHaveSynced(f) // a cache may be emptied and filled again meanwhile
	surround(f, namespace, s)
	f.PoliciesLive = !c.honorsPolicies()
	addDependencies(f, namespace, c)
	for cluster, facts := range f.Clusters {
		facts.WriteUnderWay = c.options.Memory.IsUnderWay(f.ID, cluster, f.Works[cluster])
		f.Clusters[cluster] = facts
	}
	f.Now = c.options.Clock.Now()
	f.Stalls = c.stallsOf(f.Works, f.Now)
	c.advance(f)
}

// mustHaveSynced makes facts Unknown if a cache that every decision needs has not synced.
func (c *Caches) mustHaveSynced(f *judge.Facts) {
	if c.honorsPolicies() && len(c.policies.All()) < len(state.PolicyResources()) && f.Unknown == "" {
		f.Unknown = "the override policies are not watched yet"
	}
	for _, w := range c.Fixed() {
		if f.Unknown == "" && !w.Status().Synced {
			f.Unknown = w.Resource.GroupResource.String() + " have not synced"
		}
	}
}

// Fixed are the watches that every decision needs.
func (c *Caches) Fixed() []*watch.Watch {
	return append([]*watch.Watch{c.works, c.clusters, c.namespaces}, c.policies.All()...)
}

// store is what facts are gathered from: the caches of the daemon or, for a command, the API server. What cannot be read
// there is missing in the facts.
type store interface {
	// inForce returns the configuration in force; nil if it is not known.
	inForce() *config.Configuration
	// ResourceOf returns the resource of a source, as rules name it.
	ResourceOf(render.Identity) string
	// policiesIn returns the override policies of a namespace, or, if it is empty, the cluster-wide ones.
	policiesIn(namespace string) iter.Seq[*state.Policy]
	// replicasPath returns where the definition of a source's kind says that its replicas are, if there is one, and scale
	// how large a source is.
	replicasPath(render.Identity) (string, error)
	scale(*render.Manifest, render.ScalePaths) (render.Scale, error)
	// autoscalersOf returns the autoscalers of a source, if the configuration includes them.
	autoscalersOf(render.Identity) iter.Seq[*state.Object]
	// owner returns the owner of a source, if the configuration includes it; nil, false if it should be there, and is not.
	owner(of, owner render.Identity) (o *state.Object, isKnown bool)
	// kindOf returns the kind that a user names, and leader an object that another follows: nil if it does not exist, or that is unknown.
	kindOf(name string) (schema.GroupKind, error)
	leader(render.Identity) (o *state.Object, unknown string)
	// needed returns an object that Pods need; nil if it does not exist, which isAbsent tells, or that is not known. The daemon knows
	// nothing of what it does not watch.
	needed(render.Identity) (o *state.Object, isAbsent bool)
	// worksOf returns the Works that name the source.
	worksOf(render.Identity) []*state.Work
	// Works returns all Works that have our label, without exception.
	Works() iter.Seq[*state.Work]
	// worksScaling returns the Works of autoscalers that scale the source, at least those that
	// may matter.
	worksScaling(*judge.Facts) iter.Seq[*state.Work]
	// worksNeeding returns the Works whose Pods may need the source, at least on clusters where it may be due.
	worksNeeding(*judge.Facts) iter.Seq[*state.Work]
	// judged returns the judgement on another source, of which these are some Works.
	judged(id render.Identity, works []*state.Work) judge.Judgement
	// WorkAt returns the Work of that name for a cluster, no matter who owns it. The name is
	// one that the source's own Work would have.
	WorkAt(id render.Identity, cluster, name string) (*state.Work, bool)
	clusterNames() []string
	clusterFacts(name string) judge.ClusterFacts
}

// surround adds what matters to a source in a Namespace, besides the objects that its Pods need.
func surround(f *judge.Facts, namespace *state.Namespace, s store) {
	configuration := s.inForce()
	reserve(f.Source, configuration)
	if f.Source != nil && !follow(f.Source, namespace, s) && f.Unknown == "" {
		f.Unknown = notSynced
	}
	addWorks(f, s)
	addNeeding(f, s)
	addScale(f, s)
	addPolicies(f, s)
	f.NamespaceSkipped, f.NamespaceGoing = namespace.SkipsPropagation(), namespace.Terminating
	if configuration == nil {
		return
	}
	f.DefinitionFollows = configuration.MirrorsDefinition(schema.ParseGroupResource(s.ResourceOf(f.ID)))
	f.Shown = configuration.Expand.Annotations
	f.Strip = render.StripList{Labels: configuration.Strip.Labels, Annotations: configuration.Strip.Annotations}
	authorize(f, configuration, config.Source{Resource: s.ResourceOf(f.ID), Namespace: f.ID.Namespace, NamespaceLabels: namespace.Labels})
	addAutoscalers(f, namespace, s)
	addOwner(f, namespace, s)
}

// reserve refuses a source in a namespace of the system.
func reserve(s *judge.Source, configuration *config.Configuration) {
	if s != nil && s.Asks && configuration.IsSystemNamespace(s.ID.Namespace) {
		s.Reserve()
	}
}

// addWorks adds the Works and clusters of a source.
func addWorks(f *judge.Facts, s store) {
	f.Works = map[string]*state.Work{}
	f.Taken = map[string]bool{}
	f.Clusters = map[string]judge.ClusterFacts{}
	for _, w := range s.worksOf(f.ID) {
		if other, ok := f.Works[w.Cluster]; !ok || other.IsLong() {
			f.Works[w.Cluster] = w
		}
		f.Clusters[w.Cluster] = s.clusterFacts(w.Cluster)
	}
	if f.Source == nil {
		return
	}
	for _, cluster := range append(f.Source.Terms.Names(), f.Source.Wishes.OtherNames()...) {
		f.Clusters[cluster] = s.clusterFacts(cluster)
	}
	if f.Source.Terms.IsOpen() {
		for _, name := range s.clusterNames() {
			f.Clusters[name] = s.clusterFacts(name)
		}
	}
	for cluster := range f.Clusters {
		if f.Works[cluster] == nil {
			addWorkInTheWay(f, s, cluster)
		}
	}
	scaleByWorks(f, s.worksScaling(f))
}

// addWorkInTheWay looks for a Work that occupies the name of the source's Work, where the
// source has none. If it carries another object, only the name is taken.
func addWorkInTheWay(f *judge.Facts, s store, cluster string) {
	w, isThere := s.WorkAt(f.ID, cluster, f.ID.WorkName())
	if isThere && carriesOther(w, f.ID) {
		f.Taken[cluster], isThere = true, false
	}
	if !isThere { // ours may have the longer name, and have lost our label
		w, isThere = s.WorkAt(f.ID, cluster, f.ID.LongWorkName())
	}
	if isThere {
		f.Works[cluster] = w
	}
}

// carriesOther reports whether a Work certainly carries something other than a source.
func carriesOther(w *state.Work, id render.Identity) bool {
	carried := w.Carries()
	return carried != id && carried != render.Identity{}
}

// authorize marks the clusters that the configuration forbids.
func authorize(f *judge.Facts, configuration *config.Configuration, source config.Source) {
	for name, facts := range f.Clusters {
		facts.Forbidden = !configuration.Allows(source, name)
		f.Clusters[name] = facts
	}
}

// clusterFacts returns the facts about a cluster; zero if the cluster
// does not exist.
func (c *Caches) clusterFacts(name string) judge.ClusterFacts {
	cluster := c.Cluster(name)
	if cluster == nil {
		return judge.ClusterFacts{}
	}
	return c.factsOf(cluster)
}

func (c *Caches) factsOf(cluster *state.Cluster) judge.ClusterFacts {
	f := clusterFactsOf(cluster)
	f.Recovery = c.options.Memory.RecoveryOf(cluster)
	f.Had = c.options.Memory.HadLabels(cluster)
	n, found := c.Namespace(render.ExecutionNamespace(cluster.Name))
	f.LacksNamespace = !found || n.Terminating
	return f
}

// clusterFactsOf returns what a Cluster itself says that matters to sources.
func clusterFactsOf(cluster *state.Cluster) judge.ClusterFacts {
	f := judge.ClusterFacts{State: judge.ClusterJoined, Labels: cluster.Labels, Member: cluster.Member, Joined: cluster.Joined, Away: !cluster.IsReady, Kinds: cluster.Kinds}
	if f.Away {
		f.AwaySince = cluster.ReadySince
	}
	if cluster.Terminating {
		f.State = judge.ClusterTerminating
	}
	return f
}

// Seen is everything in the caches that the deletions of a source's Works rest on.
type Seen struct {
	configuration, source, namespace any
	leaders                          []any
	// clusters are those of the Works. Each matters to the deletion there.
	clusters map[string]*state.Cluster
}

// Seen returns what the caches hold now.
func (c *Caches) Seen(id render.Identity) Seen {
	seen := c.seenOf(id)
	seen.clusters = map[string]*state.Cluster{}
	for _, w := range c.worksOf(id) {
		seen.clusters[w.Cluster] = c.Cluster(w.Cluster)
	}
	return seen
}

// StillHolds reports whether the caches hold what was seen of a source, and of a cluster if its labels matter. A
// Cluster reports every few seconds, which matters to nothing.
func (c *Caches) StillHolds(seen Seen, id render.Identity, cluster string, byLabels bool) bool {
	now := c.seenOf(id)
	if now.configuration != seen.configuration || now.source != seen.source || now.namespace != seen.namespace || !slices.Equal(now.leaders, seen.leaders) {
		return false
	}
	before, after := seen.clusters[cluster], c.Cluster(cluster)
	return !byLabels || before == after || before != nil && after != nil && before.SameMeaning(after)
}

// Cluster returns a cluster from the cache; nil if it does not exist.
func (c *Caches) Cluster(name string) *state.Cluster {
	obj, _, _ := c.clusters.Get("", name)
	cluster, _ := obj.(*state.Cluster)
	return cluster
}

// seenOf returns what has been seen but for the clusters.
func (c *Caches) seenOf(id render.Identity) (seen Seen) {
	seen.configuration = c.configuration.Load()
	if w, _ := c.watchOf(id); w != nil {
		seen.source, _, _ = w.Get(id.Namespace, id.Name)
		if o, ok := seen.source.(*state.Object); ok && o.Wishes().Follows() {
			seen.leaders = c.leadersOf(o)
		}
	}
	seen.namespace, _, _ = c.namespaces.Get("", id.Namespace)
	return seen
}
