package mirror

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

const notSynced = "its resource has not synced"

// cachedFacts gathers the facts about a source from the caches.
func (c *Controller) cachedFacts(id render.Identity) Facts {
	f := Facts{ID: id}
	w, unknown := c.watchOf(id)
	switch {
	case w != nil:
		obj, found, synced := w.Get(id.Namespace, id.Name)
		if source, ok := obj.(*Source); found && ok {
			f.Source, f.outdated = c.believed(source)
		}
		if !synced {
			f.Unknown = notSynced
		}
		if d, found, _ := c.customResources.Get("", w.Resource.String()); found {
			f.describe(d.(*definition))
		}
	case c.definitionIsGone(id):
		f.Definition = DefinitionDeleted
	default:
		f.Unknown = unknown
	}
	c.addSurroundings(&f)
	return f
}

// believed is what to believe of a source that the cache has: what was read of it since
// its Namespace has got other defaults. It is outdated if nothing was.
func (c *Controller) believed(cached *Source) (s *Source, outdated bool) {
	defaults := c.defaultsOf(cached.ID.Namespace)
	if cached.isReadWith(defaults) {
		return cached, false
	}
	s, ok := c.rereads.instead(cached, defaults)
	if !ok {
		return cached, true
	}
	return s, false
}

// liveFacts gathers the facts with the source read from the API server: a
// quorum read, since the request names no resource version. An error is returned
// unless the answer is the object or the certainty that there is none.
func (c *Controller) liveFacts(ctx context.Context, id render.Identity) (Facts, error) {
	f := c.cachedFacts(id)
	f.Live = true
	if f.Unknown != "" {
		return f, nil
	}
	if f.Definition == DefinitionDeleted {
		return f, c.confirmDefinitionIsGone(ctx, id)
	}
	w, _ := c.watchOf(id)
	if w == nil {
		return Facts{}, fmt.Errorf("cannot read source %q: its resource has just left", id)
	}
	obj, err := c.Dynamic.Resource(w.Status().Served.Resource).Namespace(id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
	cached := f.Source
	f.Source = nil
	switch {
	case err == nil:
		if f.Source, err = c.readSource(ctx, obj, cached); err != nil {
			return Facts{}, err
		}
		if f.Source.ID != id {
			return Facts{}, fmt.Errorf("cannot read source %q: the answer is %q", id, f.Source.ID)
		}
	case !provesAbsence(err, id.Name):
		return Facts{}, fmt.Errorf("cannot read source %q: %w", id, err)
	}
	if f.Source == nil {
		if err := c.readDefinition(ctx, &f, w.Resource.GroupResource); err != nil {
			return Facts{}, err
		}
	}
	c.addSurroundings(&f)
	if err := c.readClusters(ctx, f); err != nil {
		return Facts{}, err
	}
	return f, nil
}

// readClusters reads the clusters whose labels speak against a Work, into f.Clusters.
func (c *Controller) readClusters(ctx context.Context, f Facts) error {
	if f.Source == nil || !f.Source.Terms.HasSelector() {
		return nil
	}
	for cluster := range f.Works {
		if f.Source.Terms.Matches(cluster, f.Clusters[cluster].Labels) {
			continue
		}
		obj, err := c.lately.get(ctx, c.clusters, cluster)
		live := ClusterFacts{}
		switch {
		case err == nil:
			live = c.factsOf(NewCluster(obj), f.ID.GroupKind())
		case !provesAbsence(err, cluster):
			return fmt.Errorf("cannot read the labels of cluster %q: %w", cluster, err)
		}
		live.Forbidden = f.Clusters[cluster].Forbidden
		f.Clusters[cluster] = live
	}
	return nil
}

// readSource makes a Source of an object that was read just now, and remembers it if
// the cache has it as of other defaults.
func (c *Controller) readSource(ctx context.Context, obj *unstructured.Unstructured, cached *Source) (*Source, error) {
	defaults, err := c.liveDefaults(ctx, obj.GetNamespace())
	if err != nil {
		return nil, err
	}
	s := NewSource(obj, defaults)
	if cached != nil && !cached.isReadWith(defaults) {
		c.rereads.note(s)
	}
	return s, nil
}

// provesAbsence reports whether an error says that the object itself does not
// exist. The answer for a path that is not served is a 404 as well; client-go
// fills in the object's name, but marks it as an unexpected response.
func provesAbsence(err error, name string) bool {
	status, ok := err.(apierrors.APIStatus)
	return ok && apierrors.IsNotFound(err) &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) &&
		status.Status().Details != nil && status.Status().Details.Name == name
}

// watchOf finds the watch for a source's kind, or says why there is none to
// rely on.
func (c *Controller) watchOf(id render.Identity) (*watch.Watch, string) {
	w, ok := c.sources.ByKind(id.GroupKind())
	if !ok {
		return nil, fmt.Sprintf("no resource of kind %q is watched: it is not in the configuration, or the API server does not serve it", id.GroupKind())
	}
	resource, ok := c.configuration.Load().Resource(w.Resource.GroupResource)
	if !ok || !resource.SelectsNamespace(id.Namespace) {
		return nil, fmt.Sprintf("the configuration leaves out namespace %q of %q", id.Namespace, w.Resource.GroupResource)
	}
	return w, ""
}

// addSurroundings adds the Works and clusters that matter to the source. What is
// not in a cache that is not there does not exist for that.
func (c *Controller) addSurroundings(f *Facts) {
	defer func() {
		for _, w := range c.fixed() {
			if f.Unknown == "" && !w.Status().Synced {
				f.Unknown = w.Resource.GroupResource.String() + " have not synced"
			}
		}
	}()
	f.addSurroundings(cachedSurroundings{c})
	if configuration := c.configuration.Load(); configuration != nil {
		var labels labels.Set
		if obj, found, _ := c.namespaces.Get("", f.ID.Namespace); found {
			labels = obj.(*Namespace).Labels
		}
		f.NamespaceSkipped = skipsPropagation(labels)
		f.authorize(configuration, config.Source{Resource: c.resourceOf(f.ID), Namespace: f.ID.Namespace, NamespaceLabels: labels})
	}
}

// authorize marks the clusters that the configuration does not allow.
func (f *Facts) authorize(configuration *config.Configuration, source config.Source) {
	for name, facts := range f.Clusters {
		facts.Forbidden = !configuration.Allows(source, name)
		f.Clusters[name] = facts
	}
}

// surroundings are where a source finds its Works and clusters.
type surroundings interface {
	// worksOf are the Works that name the source.
	worksOf(render.Identity) []*Work
	// workAt is the Work at the name that ours would have, whosever it is.
	workAt(id render.Identity, cluster string) (*Work, bool)
	clusters() []string
	clusterFacts(name string, kind schema.GroupKind) ClusterFacts
}

func (f *Facts) addSurroundings(s surroundings) {
	kind := f.ID.GroupKind()
	f.Works = map[string]*Work{}
	f.Clusters = map[string]ClusterFacts{}
	for _, w := range s.worksOf(f.ID) {
		f.Works[w.Cluster] = w
		f.Clusters[w.Cluster] = s.clusterFacts(w.Cluster, kind)
	}
	if f.Source == nil {
		return
	}
	for _, cluster := range f.Source.Terms.Names() {
		f.Clusters[cluster] = s.clusterFacts(cluster, kind)
	}
	if f.Source.Terms.IsOpen() {
		for _, name := range s.clusters() {
			f.Clusters[name] = s.clusterFacts(name, kind)
		}
	}
	for cluster := range f.Clusters {
		if w, ok := s.workAt(f.ID, cluster); ok {
			f.Works[cluster] = w
		}
	}
}

// cachedSurroundings are those of the caches.
type cachedSurroundings struct{ *Controller }

func (c cachedSurroundings) worksOf(id render.Identity) []*Work {
	var works []*Work
	for _, obj := range c.works.ByIndex(sourceIndex, sourceBucket(id)) {
		if w := obj.(*Work); w.Source == id {
			works = append(works, w)
		}
	}
	return works
}

func (c cachedSurroundings) clusters() []string {
	var names []string
	for _, obj := range c.Controller.clusters.List() {
		names = append(names, obj.(*Cluster).Name)
	}
	return names
}

// workAt finds the Work at the name that ours would have: in the cache, or as a
// refused creation has found it, for the cache holds labelled Works only.
func (c *Controller) workAt(id render.Identity, cluster string) (*Work, bool) {
	if obj, found, _ := c.works.Get(render.ExecutionNamespace(cluster), id.WorkName()); found {
		return obj.(*Work), true
	}
	return c.ledger.unlisted(id, cluster)
}
