package gather

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Reader gathers Facts by live reads alone, so that a command reaches the same Verdict as the
// daemon. It reads the clusters and each Namespace once. It skips what its user may not read,
// and Hidden lists that.
type Reader struct {
	client dynamic.Interface
	// mapper says what is served.
	mapper meta.RESTMapper
	// configuration is nil if it is hidden: every resource then counts as configured.
	configuration *config.Configuration
	clusters      knownClusters
	namespaces    map[string]*state.Namespace
	autoscalers   map[string][]*state.Object  // by namespace and resource
	policies      map[string][]*state.Policy  // by namespace
	applied       map[string]readApplied      // by namespace
	carried       map[schema.GroupKind]string // the version in which most Works are
	// autoscalerWorks has the Works of autoscalers, by cluster.
	autoscalerWorks map[string][]*state.Work
	// assumed are objects that replace those on the API server.
	assumed map[render.Identity]*unstructured.Unstructured
	hidden  hidden
	// Seen, if not nil, is called for each Work that is read.
	Seen func(*unstructured.Unstructured)
}

// NewReader returns a Reader that has read the clusters. Pass a nil configuration if the user
// may not read it.
func NewReader(ctx context.Context, client dynamic.Interface, mapper meta.RESTMapper, configuration *config.Configuration) (*Reader, error) {
	r := &Reader{
		client: client, mapper: mapper, configuration: configuration, clusters: knownClusters{}, hidden: newHidden(), carried: map[schema.GroupKind]string{},
		namespaces: map[string]*state.Namespace{}, assumed: map[render.Identity]*unstructured.Unstructured{},
		policies: map[string][]*state.Policy{}, applied: map[string]readApplied{}, autoscalers: map[string][]*state.Object{}, autoscalerWorks: map[string][]*state.Work{},
	}
	if configuration == nil {
		r.Hide(configurationHidden)
	}
	list, err := client.Resource(state.ClustersResource).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		r.Hide(clustersHidden)
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the clusters: %w", err)
	}
	for i := range list.Items {
		r.clusters[list.Items[i].GetName()] = state.NewCluster(&list.Items[i])
	}
	return r, nil
}

// IdentityOf returns the identity of an object.
func IdentityOf(obj *unstructured.Unstructured) render.Identity {
	gk := obj.GroupVersionKind().GroupKind()
	return render.Identity{Group: gk.Group, Kind: gk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// Cluster returns a member cluster; nil if it does not exist.
func (r *Reader) Cluster(name string) *state.Cluster { return r.clusters[name] }

// SourceRef names a source as the API server serves it.
type SourceRef struct {
	Mapping         *meta.RESTMapping
	Namespace, Name string
}

// Identity returns the identity of the source, which does not include the version.
func (s SourceRef) Identity() render.Identity {
	gk := s.Mapping.GroupVersionKind.GroupKind()
	return render.Identity{Group: gk.Group, Kind: gk.Kind, Namespace: s.Namespace, Name: s.Name}
}

// Facts reads a source and everything that matters to it. If obj is not nil, it is used instead
// of reading the source.
func (r *Reader) Facts(ctx context.Context, ref SourceRef, obj *unstructured.Unstructured) (judge.Facts, error) {
	s := &reading{Reader: r, ctx: ctx, ref: ref}
	f, namespace, err := r.facts(s, obj, s)
	if err == nil && f.Source != nil {
		addDependencies(&f, namespace, s)
		err = s.err
	}
	if err != nil {
		clear(r.carried) // perhaps only some Works were read
		return judge.Facts{}, err
	}
	return f, nil
}

// facts reads a source, its Namespace, and what matters to it from a store that reads with s.
func (r *Reader) facts(s *reading, obj *unstructured.Unstructured, from store) (f judge.Facts, namespace *state.Namespace, err error) {
	f = judge.Facts{ID: s.ref.Identity(), Live: true}
	f.Unknown, f.Hint = excluded(r.configuration, f.ID, s.ref.Mapping.Resource.GroupResource())
	f.Unwatched = f.Unknown != ""
	if namespace, err = r.namespace(s.ctx, s.ref.Namespace); err != nil {
		return f, nil, err
	}
	defaults := defaultsOf(f.ID, namespace, from)
	if assumed := r.assumed[f.ID]; assumed != nil {
		obj = assumed
	}
	if obj == nil {
		obj, err = r.object(s.ctx, s.ref)
	}
	switch {
	case err == nil && obj != nil:
		f.Source = judge.NewSource(obj.DeepCopy(), defaults)
	case apierrors.IsForbidden(err) && f.Unknown != "": // the source makes no difference
		f.Live = false
	case err != nil:
		return f, nil, err
	}
	r.assumeClusters(f.Source)
	f.ClustersHidden = r.HidesClusters()
	if err := r.useVersionInForce(s, &f, namespace, from); err != nil {
		return f, nil, err
	}
	surround(&f, namespace, from)
	r.noteApprovals(f.Works)
	if s.advance(&f); s.err != nil {
		return f, nil, s.err
	}
	if err := addBindings(s.ctx, r.client, f); err != nil && !apierrors.IsForbidden(err) { // not every user may read the bindings
		return f, nil, err
	}
	return f, namespace, nil
}

// useVersionInForce reads a source again if it was read in another version than the daemon watches. What is assumed stays as
// it was given.
func (r *Reader) useVersionInForce(s *reading, f *judge.Facts, namespace *state.Namespace, from store) error {
	if f.Source == nil || r.assumed[f.ID] != nil || r.configuration == nil {
		return nil
	}
	inForce, err := r.versionInForce(s.ref.Mapping, from)
	if err != nil || inForce == s.ref.Mapping.Resource {
		return err
	}
	obj, err := r.client.Resource(inForce).Namespace(s.ref.Namespace).Get(s.ctx, s.ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) { // it is no longer served, or the source has just been deleted
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read %s %q: %w", inForce.GroupResource(), s.ref.Name, err)
	}
	f.Source, s.version = judge.NewSource(obj, namespace.Wishes), inForce.Version
	return nil
}

// versionInForce is the one that the configuration names or, if it names none, the one that [Caches.Resolve] finds when a watch
// begins. The Works are read only for a kind that is served in several versions, and once: see [Reader.Renews].
func (r *Reader) versionInForce(mapping *meta.RESTMapping, s store) (schema.GroupVersionResource, error) {
	inForce, kind := mapping.Resource, mapping.GroupVersionKind.GroupKind()
	resource, _ := r.configuration.Resource(inForce.GroupResource())
	if inForce.Version = resource.Version; inForce.Version != "" {
		return inForce, nil
	}
	served, err := r.mapper.RESTMappings(kind)
	preferred, err2 := r.mapper.RESTMapping(kind)
	if err := cmp.Or(err, err2); err != nil {
		return inForce, fmt.Errorf("cannot tell in which versions %s are served: %w", inForce.GroupResource(), err)
	}
	if inForce = preferred.Resource; len(served) > 1 {
		if _, isKnown := r.carried[kind]; !isKnown {
			r.carried[kind] = carriedBy(s.Works(), kind, resource, "")
		}
		carried := inForce.GroupResource().WithVersion(r.carried[kind])
		if slices.ContainsFunc(served, func(m *meta.RESTMapping) bool { return m.Resource == carried }) {
			inForce = carried
		}
	}
	return inForce, nil
}

// Renews makes the Reader one that follows an earlier one, if there is one: all Works are not read again for their versions.
func (r *Reader) Renews(earlier *Reader) {
	if earlier != nil {
		r.carried = earlier.carried
	}
}

// object reads a source; nil if it certainly does not exist.
func (r *Reader) object(ctx context.Context, ref SourceRef) (*unstructured.Unstructured, error) {
	obj, err := r.client.Resource(ref.Mapping.Resource).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if ProvesAbsence(err, ref.Name) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s %q: %w", ref.Mapping.Resource.GroupResource(), ref.Name, err)
	}
	return obj, nil
}

func (r *reading) autoscalersOf(id render.Identity) iter.Seq[*state.Object] {
	return func(yield func(*state.Object) bool) {
		for kind, resource := range state.AutoscalerResources {
			if !r.configuration.Includes(resource.GroupResource(), id.Namespace) {
				continue
			}
			for _, o := range r.autoscalersIn(kind, id.Namespace) {
				if scaled, ok := o.Scales(); ok && scaled == id && !yield(o) {
					return
				}
			}
		}
	}
}

// autoscalersIn lists the autoscalers of a kind in a namespace, once.
func (r *reading) autoscalersIn(kind schema.GroupKind, namespace string) []*state.Object {
	resource := state.AutoscalerResources[kind]
	in := namespace + "/" + resource.Resource
	if known, ok := r.autoscalers[in]; ok || r.err != nil {
		return known
	}
	list, err := r.client.Resource(resource).Namespace(namespace).List(r.ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		r.Hide(kind.Kind + "s in namespace " + namespace)
	}
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) { // not served
		list, err = &unstructured.UnstructuredList{}, nil
	}
	if err != nil {
		r.fail(fmt.Errorf("cannot list the autoscalers in namespace %q: %w", namespace, err))
		return nil
	}
	found := make([]*state.Object, 0, len(list.Items))
	for _, obj := range r.withAssumed(list, kind, namespace) {
		found = append(found, state.NewObject(obj))
	}
	r.autoscalers[in] = found
	return found
}

// see passes a Work that was read to Seen, and reduces it.
func (r *Reader) see(obj *unstructured.Unstructured) *state.Work {
	if r.Seen != nil {
		r.Seen(obj)
	}
	return state.NewWork(obj)
}

// noteApprovals notes on marks which deletions are approved on the ConfigMap now, if the user may read it.
func (r *Reader) noteApprovals(works map[string]*state.Work) {
	for _, w := range works {
		if w.Held != nil {
			w.Held.Approved = r.configuration.Approves(w.Held.Since, w.Held.Resource, w.Source.Namespace, w.Cluster)
		}
	}
}

func (r *Reader) namespace(ctx context.Context, name string) (*state.Namespace, error) {
	if name == "" {
		return &state.Namespace{}, nil
	}
	if known, ok := r.namespaces[name]; ok {
		return known, nil
	}
	obj, err := r.assumed[render.Identity{Kind: "Namespace", Name: name}], error(nil)
	if obj == nil {
		obj, err = r.client.Resource(state.NamespacesResource).Get(ctx, name, metav1.GetOptions{})
	}
	switch {
	case apierrors.IsForbidden(err):
		r.Hide("namespace " + name)
		return &state.Namespace{}, nil
	case apierrors.IsNotFound(err):
		return &state.Namespace{}, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read namespace %q: %w", name, err)
	}
	r.namespaces[name] = state.NewNamespace(obj)
	return r.namespaces[name], nil
}

// knownClusters are the clusters that the Reader has read.
type knownClusters map[string]*state.Cluster

func (k knownClusters) clusterNames() []string { return slices.Sorted(maps.Keys(k)) }

func (k knownClusters) clusterFacts(name string) judge.ClusterFacts {
	cluster := k[name]
	if cluster == nil {
		return judge.ClusterFacts{}
	}
	return clusterFactsOf(cluster)
}
