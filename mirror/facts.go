package mirror

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
			f.Source = source
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
	f.Source = nil
	switch {
	case err == nil:
		if f.Source = NewSource(obj); f.Source.ID != id {
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
	return f, nil
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
		for _, w := range []*watch.Watch{c.works, c.clusters} {
			if f.Unknown == "" && !w.Status().Synced {
				f.Unknown = w.Resource.GroupResource.String() + " have not synced"
			}
		}
	}()
	f.Works = map[string]*Work{}
	f.Clusters = map[string]ClusterState{}
	for _, obj := range c.works.ByIndex(sourceIndex, sourceBucket(f.ID)) {
		w := obj.(*Work)
		if w.Source != f.ID {
			continue
		}
		f.Works[w.Cluster] = w
		f.Clusters[w.Cluster] = c.clusterState(w.Cluster)
	}
	if f.Source == nil {
		return
	}
	for _, cluster := range f.Source.Terms.Names() {
		f.Clusters[cluster] = c.clusterState(cluster)
	}
	if f.Source.Terms.HasGlob() {
		for _, obj := range c.clusters.List() {
			name := obj.(*Cluster).Name
			f.Clusters[name] = c.clusterState(name)
		}
	}
	for cluster := range f.Clusters {
		if w, ok := c.workAt(f.ID, cluster); ok {
			f.Works[cluster] = w
		}
	}
}

// workAt finds the Work at the name that ours would have: in the cache, or as a
// refused creation has found it, for the cache holds labelled Works only.
func (c *Controller) workAt(id render.Identity, cluster string) (*Work, bool) {
	if obj, found, _ := c.works.Get(render.ExecutionNamespace(cluster), id.WorkName()); found {
		return obj.(*Work), true
	}
	return c.ledger.unlisted(id, cluster)
}

func (c *Controller) clusterState(name string) ClusterState {
	obj, found, _ := c.clusters.Get("", name)
	switch {
	case !found:
		return ClusterMissing
	case obj.(*Cluster).Terminating:
		return ClusterTerminating
	}
	return ClusterJoined
}
