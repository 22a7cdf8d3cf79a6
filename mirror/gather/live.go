package gather

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// LiveFacts gathers the facts with live reads of the source, its Namespace and, where their
// labels matter, its clusters. These are quorum reads, since the requests name no resource
// version. It returns an error unless each answer is the object, or proof that the object does
// not exist.
func (c *Caches) LiveFacts(ctx context.Context, id render.Identity) (judge.Facts, error) {
	return c.byOneConfiguration(func() (judge.Facts, error) { return c.liveFacts(ctx, id) })
}

func (c *Caches) liveFacts(ctx context.Context, id render.Identity) (judge.Facts, error) {
	f := c.facts(id)
	f.Live = true
	if f.Unknown != "" {
		return f, nil
	}
	if f.Definition == judge.DefinitionDeleted {
		return f, c.confirmDefinitionIsGone(ctx, id)
	}
	w, _ := c.watchOf(id)
	if w == nil {
		return judge.Facts{}, fmt.Errorf("cannot read source %q: its resource is no longer watched", id)
	}
	proving := newProving(ctx, c)
	ended := c.readBeside(ctx, f, proving)
	f.Source, f.Dependencies = nil, nil
	o, err := c.readObject(ctx, w, id)
	if failed := ended(); err == nil && o != nil { // they matter to no other
		err = failed
	}
	if err != nil {
		return judge.Facts{}, err
	}
	if o == nil {
		if err := c.readDefinition(ctx, &f, w.Resource.GroupResource); err != nil {
			return judge.Facts{}, err
		}
		namespace, _ := c.namespaceOf(id)
		c.surround(&f, namespace, proving)
		return f, proving.err
	}
	namespace, err := c.liveNamespaceOf(ctx, id)
	if err != nil {
		return judge.Facts{}, err
	}
	f.Source = judge.SourceOf(o, defaultsOf(id, namespace, c))
	if f.Source.Leaving { // with its definition, maybe
		if err := c.readDefinition(ctx, &f, w.Resource.GroupResource); err != nil {
			return judge.Facts{}, err
		}
	}
	if c.surround(&f, namespace, proving); proving.err != nil {
		return judge.Facts{}, proving.err
	}
	if err := c.readClusters(ctx, f); err != nil {
		return judge.Facts{}, err
	}
	if err := addBindings(ctx, c.options.Dynamic, f); err != nil { // it is retried soon
		c.options.Failures.Warn("cannot tell whether a Work can be taken back", zap.Error(err))
	}
	return f, nil
}

// readBeside begins what has to be read besides a source, as the cache shows that: one read after another may take longer than a
// proof may be old. Those that follow use what has been read. ended waits until all is.
func (c *Caches) readBeside(ctx context.Context, f judge.Facts, p *proving) (ended func() error) {
	var reads errgroup.Group
	reads.SetLimit(readsInFlight + fewWorkloads)
	p.begin(f, &reads)
	if f.Source != nil {
		for _, id := range f.Source.Leaders {
			reads.Go(func() (err error) { defer state.Catch(&err); p.leader(id); return nil })
		}
		f.Clusters = maps.Clone(f.Clusters)
		reads.Go(func() (err error) { defer state.Catch(&err); _, err = c.liveNamespaceOf(ctx, f.ID); return err })
		reads.Go(func() (err error) { defer state.Catch(&err); return c.readClusters(ctx, f) })
	}
	return reads.Wait
}

// confirmDefinitionIsGone returns nil if live reads prove that the definition no longer
// exists: it is not found, and no version of the resource is served. A built-in resource has
// no definition, but may be served in another version than the configuration names.
func (c *Caches) confirmDefinitionIsGone(ctx context.Context, id render.Identity) error {
	r := c.resourceOf(id)
	_, err := c.options.Dynamic.Resource(state.DefinitionsResource).Get(ctx, r.String(), metav1.GetOptions{})
	if err == nil {
		return fmt.Errorf("cannot tell whether source %q exists: its definition %q exists, but is not served", id, r)
	}
	if !ProvesAbsence(err, r.String()) {
		return fmt.Errorf("cannot read the definition %q of source %q: %w", r, id, err)
	}
	served, ok, err := c.options.Resolver.Resolve(ctx, watch.Resource{GroupResource: r})
	if err != nil {
		return fmt.Errorf("cannot tell whether source %q exists: %w", id, err)
	}
	if ok {
		return fmt.Errorf("cannot tell whether source %q exists: it is served in version %q, not as configured", id, served.Resource.Version)
	}
	return nil
}

// readObject reads an object with its content; nil if it certainly does not exist. It
// remembers the content if the cache has not kept it.
func (c *Caches) readObject(ctx context.Context, w *watch.Watch, id render.Identity) (*state.Object, error) {
	u, err := c.options.Dynamic.Resource(w.Status().Served.Resource).Namespace(id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
	switch {
	case ProvesAbsence(err, id.Name):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read source %q: %w", id, err)
	}
	o := state.NewWholeObject(u)
	if o.ID != id {
		return nil, fmt.Errorf("cannot read source %q: the API server returned %q", id, o.ID)
	}
	if !o.Chooses() {
		c.contents.noteRead(o)
	}
	return o, nil
}

// LiveWorks lists our Works of a source by a live read.
func (c *Caches) LiveWorks(ctx context.Context, source render.Identity) (works []*state.Work, err error) {
	_, err = eachWorkIn(ctx, c.options.Dynamic, metav1.NamespaceAll, render.SourceIDLabel+"="+source.ID(), func(obj *unstructured.Unstructured) {
		if w := state.NewWork(obj); w.IsOursFor(source) {
			works = append(works, w)
		}
	})
	return works, err
}

// HasWorks reports whether a source has a Work on a cluster that it asks for, or would if it were not being
// deleted. It reads each by its name: a list may be wrong.
func (c *Caches) HasWorks(ctx context.Context, source *judge.Source) (bool, error) {
	terms, err := source.Wishes.Terms()
	if err != nil {
		return false, nil // the cached ones are all that is known
	}
	var found atomic.Bool
	var reads errgroup.Group
	reads.SetLimit(readsInFlight)
	for cluster := range each[state.Cluster](c.clusters.List()) {
		if terms.Matches(cluster.Name, cluster.Labels) || source.Wishes.Follows() {
			reads.Go(func() (err error) {
				defer state.Catch(&err)
				has, err := c.hasWork(ctx, source.ID, cluster.Name)
				if has {
					found.Store(true)
				}
				return err
			})
		}
	}
	err = reads.Wait()
	return found.Load(), err
}

// hasWork also looks for the longer name: another object's Work may have had Karmada's.
func (c *Caches) hasWork(ctx context.Context, id render.Identity, cluster string) (bool, error) {
	works := c.options.Dynamic.Resource(render.WorksResource).Namespace(render.ExecutionNamespace(cluster))
	for _, name := range []string{id.WorkName(), id.LongWorkName()} {
		obj, err := works.Get(ctx, name, metav1.GetOptions{})
		switch {
		case ProvesAbsence(err, name):
		case err != nil:
			return false, fmt.Errorf("cannot read Work %s/%s: %w", render.ExecutionNamespace(cluster), name, err)
		case state.NewWork(obj).IsOursFor(id):
			return true, nil
		}
	}
	return false, nil
}

// ReadWaves notes in f which Works have changed or are there, or clusters gone or come back, that the caches do not show.
func (c *Caches) ReadWaves(ctx context.Context, f *judge.Facts, clusters []string) (err error) {
	var unseen []*state.Work
	if slices.ContainsFunc(clusters, func(cluster string) bool { return f.Works[cluster] == nil && !f.Clusters[cluster].Away }) {
		if unseen, err = c.LiveWorks(ctx, f.ID); err != nil {
			return fmt.Errorf("cannot list the Works of source %q: %w", f.ID, err)
		}
	}
	var mu sync.Mutex
	var reads errgroup.Group
	reads.SetLimit(readsInFlight)
	f.Changed = map[string]bool{}
	for _, cluster := range clusters {
		w := f.Works[cluster]
		reads.Go(func() (err error) {
			defer state.Catch(&err)
			hasChanged := slices.ContainsFunc(unseen, func(live *state.Work) bool { return w == nil && live.Cluster == cluster })
			if w != nil {
				if hasChanged, err = c.hasChanged(ctx, w); err != nil {
					return err
				}
			}
			live, err := c.recent.get(ctx, c.clusters, cluster, func(u *unstructured.Unstructured) kept { return state.NewCluster(u) })
			if err != nil && !ProvesAbsence(err, cluster) {
				return fmt.Errorf("cannot read cluster %q: %w", cluster, err)
			}
			mu.Lock()
			defer mu.Unlock()
			f.Changed[cluster] = hasChanged || err != nil || c.isOtherwise(live.(*state.Cluster), f.Clusters[cluster])
			return nil
		})
	}
	return reads.Wait()
}

// hasChanged reports whether a Work is not as the cache shows it.
func (c *Caches) hasChanged(ctx context.Context, w *state.Work) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	obj, err := c.options.Dynamic.Resource(render.WorksResource).Namespace(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
	if err != nil && !ProvesAbsence(err, w.Name) {
		return false, fmt.Errorf("cannot read Work %s/%s: %w", w.Namespace, w.Name, err)
	}
	return err != nil || obj.GetResourceVersion() != w.ResourceVersion, nil
}

// isOtherwise reports whether a cluster is not ready as the facts say, or has been so for another time than the cache shows, or is
// about to leave, or has joined again.
func (c *Caches) isOtherwise(live *state.Cluster, f judge.ClusterFacts) bool {
	cached := c.Cluster(live.Name)
	return live.IsReady == f.Away || cached == nil || live.UID != cached.UID || live.Terminating != cached.Terminating || !live.ReadySince.Equal(cached.ReadySince)
}

// readDefinition finds out how a source was deleted that a live read did not find: by
// itself, or with the definition of its kind. The cache cannot tell: a definition that
// was deleted and recreated looks the same until the watch catches up. Read the source
// first: the definition read here is then the one it was deleted under, or a later one.
func (c *Caches) readDefinition(ctx context.Context, f *judge.Facts, r schema.GroupResource) error {
	if !mayBeDefined(r) {
		return nil
	}
	obj, err := c.options.Dynamic.Resource(state.DefinitionsResource).Get(ctx, r.String(), metav1.GetOptions{})
	switch {
	case err == nil:
		c.describe(f, state.NewDefinition(obj))
	case !ProvesAbsence(err, r.String()):
		return fmt.Errorf("cannot tell how source %q was deleted: cannot read the definition of its kind: %w", f.ID, err)
	case c.hasSeen(r):
		f.Definition = judge.DefinitionDeleted
	}
	return nil
}

// readsInFlight is how many clusters are read at once: hundreds must not take as long as a proof may be old.
const readsInFlight = 32

// readClusters reads the clusters whose labels matter into f.Clusters: those whose Works are due by the
// cached labels. What the cache says is enough to keep a Work.
func (c *Caches) readClusters(ctx context.Context, f judge.Facts) error {
	if !f.Source.Terms.HasSelector() {
		return nil
	}
	var mu sync.Mutex
	var reads errgroup.Group
	reads.SetLimit(readsInFlight)
	for cluster, cached := range maps.Clone(f.Clusters) {
		if f.Works[cluster] == nil || f.Source.Terms.Excludes(cluster) || f.Source.Terms.Matches(cluster, cached.Labels) {
			continue
		}
		reads.Go(func() (err error) {
			defer state.Catch(&err)
			obj, err := c.recent.get(ctx, c.clusters, cluster, func(u *unstructured.Unstructured) kept { return state.NewCluster(u) })
			live := judge.ClusterFacts{}
			switch {
			case err == nil:
				live = c.factsOf(obj.(*state.Cluster))
			case !ProvesAbsence(err, cluster):
				return fmt.Errorf("cannot read the labels of cluster %q: %w", cluster, err)
			}
			live.Forbidden, live.ScaledBy, live.Owner, live.WriteUnderWay = cached.Forbidden, cached.ScaledBy, cached.Owner, cached.WriteUnderWay
			mu.Lock()
			defer mu.Unlock()
			f.Clusters[cluster] = live
			return nil
		})
	}
	return reads.Wait()
}

// liveNamespaceOf returns the Namespace of a source, by a live read at most recentPeriod old.
func (c *Caches) liveNamespaceOf(ctx context.Context, id render.Identity) (*state.Namespace, error) {
	if id.Namespace == "" {
		return &state.Namespace{}, nil
	}
	obj, err := c.recent.get(ctx, c.namespaces, id.Namespace, func(u *unstructured.Unstructured) kept { return state.NewNamespace(u) })
	if err != nil {
		return nil, fmt.Errorf("cannot read namespace %q: %w", id.Namespace, err)
	}
	return obj.(*state.Namespace), nil
}

// ProvesAbsence reports whether an error says that the object itself does not
// exist. A path that is not served also returns a 404; client-go fills in the
// object's name, but marks it as an unexpected response.
func ProvesAbsence(err error, name string) bool {
	status, ok := err.(apierrors.APIStatus)
	return ok && apierrors.IsNotFound(err) &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) &&
		status.Status().Details != nil && status.Status().Details.Name == name
}
