package gather

import (
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

// Reader gathers Facts by live reads alone, so that a command comes to the same Verdict
// as the daemon. It reads the clusters once, and each Namespace.
type Reader struct {
	client        dynamic.Interface
	configuration *config.Configuration
	clusters      map[string]*state.Cluster
	namespaces    map[string]*state.Namespace
	autoscalers   map[string][]*state.Object // by namespace
	// autoscalerWorks are by cluster.
	autoscalerWorks map[string][]*state.Work
	// Seen is called for each Work that is read; nil if nobody wants to know.
	Seen func(*unstructured.Unstructured)
}

// NewReader reads the clusters.
func NewReader(ctx context.Context, client dynamic.Interface, configuration *config.Configuration) (*Reader, error) {
	list, err := client.Resource(state.ClustersResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot list the clusters: %w", err)
	}
	r := &Reader{client: client, configuration: configuration, clusters: map[string]*state.Cluster{}, namespaces: map[string]*state.Namespace{}, autoscalers: map[string][]*state.Object{}, autoscalerWorks: map[string][]*state.Work{}}
	for i := range list.Items {
		r.clusters[list.Items[i].GetName()] = state.NewCluster(&list.Items[i])
	}
	return r, nil
}

// Cluster is what is known of a member cluster; nil if there is none.
func (r *Reader) Cluster(name string) *state.Cluster { return r.clusters[name] }

// SourceRef names a source as the API server serves it.
type SourceRef struct {
	Mapping         *meta.RESTMapping
	Namespace, Name string
}

// Identity is the source's, whatever its version.
func (s SourceRef) Identity() render.Identity {
	gk := s.Mapping.GroupVersionKind.GroupKind()
	return render.Identity{Group: gk.Group, Kind: gk.Kind, Namespace: s.Namespace, Name: s.Name}
}

// Facts reads a source and all that bears on it. Instead of reading it, it takes obj if
// that is not nil.
func (r *Reader) Facts(ctx context.Context, ref SourceRef, obj *unstructured.Unstructured) (judge.Facts, error) {
	s := &readSurroundings{knownClusters: r.clusters, reader: r, ctx: ctx}
	f, err := r.facts(ctx, ref, obj, s)
	if err != nil {
		return judge.Facts{}, err
	}
	return f, s.err
}

func (r *Reader) facts(ctx context.Context, ref SourceRef, obj *unstructured.Unstructured, s surroundings) (judge.Facts, error) {
	f := judge.Facts{ID: ref.Identity(), Live: true}
	gr := ref.Mapping.Resource.GroupResource()
	switch resource, ok := r.configuration.Resource(gr); {
	case !ok:
		f.Unknown = fmt.Sprintf("%s is not among the resources of the configuration", gr)
	case !resource.SelectsNamespace(ref.Namespace):
		f.Unknown = fmt.Sprintf("the configuration leaves out namespace %q of %q", ref.Namespace, gr)
	}
	namespace, err := r.namespace(ctx, ref.Namespace)
	if err != nil {
		return judge.Facts{}, err
	}
	if obj == nil && f.Unknown == "" {
		obj, err = r.client.Resource(ref.Mapping.Resource).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil && !provesAbsence(err, ref.Name) {
			return judge.Facts{}, fmt.Errorf("cannot read %s %q: %w", gr, ref.Name, err)
		}
	}
	if obj != nil && err == nil {
		f.Source = judge.NewSource(obj.DeepCopy(), namespace.Wishes)
	}
	addSurroundings(&f, s)
	f.NamespaceSkipped = namespace.SkipsPropagation()
	authorize(&f, r.configuration, config.Source{Resource: gr.String(), Namespace: ref.Namespace, NamespaceLabels: namespace.Labels})
	return f, r.addAutoscalers(ctx, &f, namespace)
}

// addAutoscalers marks the clusters to which an autoscaler of the source is mirrored.
func (r *Reader) addAutoscalers(ctx context.Context, f *judge.Facts, namespace *state.Namespace) error {
	if f.Source == nil || !f.Source.Asks || f.ID.Namespace == "" || f.ID.Group == "" {
		return nil // nothing of the core group that is mirrored can be scaled
	}
	resource, ok := r.configuration.Resource(state.AutoscalersResource.GroupResource())
	if !ok || !resource.SelectsNamespace(f.ID.Namespace) {
		return nil
	}
	autoscalers, err := r.autoscalersIn(ctx, f.ID.Namespace)
	if err != nil {
		return err
	}
	place := config.Source{Resource: state.AutoscalersResource.GroupResource().String(), Namespace: f.ID.Namespace, NamespaceLabels: namespace.Labels}
	for _, o := range autoscalers {
		if o.Scales != nil && *o.Scales == f.ID {
			scaleBy(f, judge.SourceOf(o, namespace.Wishes), r.configuration, place)
		}
	}
	return nil
}

// autoscalersIn lists those of a namespace, once.
func (r *Reader) autoscalersIn(ctx context.Context, namespace string) ([]*state.Object, error) {
	if known, ok := r.autoscalers[namespace]; ok {
		return known, nil
	}
	list, err := r.client.Resource(state.AutoscalersResource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot list the autoscalers in namespace %q: %w", namespace, err)
	}
	found := make([]*state.Object, 0, len(list.Items))
	for i := range list.Items {
		found = append(found, state.NewObject(&list.Items[i]))
	}
	r.autoscalers[namespace] = found
	return found, nil
}

// see reduces a Work that has been read.
func (r *Reader) see(obj *unstructured.Unstructured) *state.Work {
	if r.Seen != nil {
		r.Seen(obj)
	}
	return state.NewWork(obj)
}

func (r *Reader) namespace(ctx context.Context, name string) (*state.Namespace, error) {
	if name == "" {
		return &state.Namespace{}, nil
	}
	if known, ok := r.namespaces[name]; ok {
		return known, nil
	}
	obj, err := r.client.Resource(state.NamespacesResource).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return &state.Namespace{}, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read namespace %q: %w", name, err)
	}
	r.namespaces[name] = state.NewNamespace(obj)
	return r.namespaces[name], nil
}

// knownClusters are those that the Reader has read.
type knownClusters map[string]*state.Cluster

func (k knownClusters) clusterNames() []string { return slices.Sorted(maps.Keys(k)) }

func (k knownClusters) clusterFacts(name string, kind schema.GroupKind) judge.ClusterFacts {
	cluster := k[name]
	if cluster == nil {
		return judge.ClusterFacts{}
	}
	return clusterFactsOf(cluster, kind)
}

// readSurroundings are those of the API server. The first failure ends it.
type readSurroundings struct {
	knownClusters
	reader *Reader
	ctx    context.Context
	err    error
}

func (r *readSurroundings) worksOf(id render.Identity) []*state.Work {
	list, err := r.reader.client.Resource(render.WorksResource).List(r.ctx, metav1.ListOptions{LabelSelector: render.SourceIDLabel + "=" + id.ID()})
	if err != nil {
		r.fail(fmt.Errorf("cannot list the Works of %q: %w", id, err))
		return nil
	}
	var works []*state.Work
	for i := range list.Items {
		if w := r.reader.see(&list.Items[i]); w.Source == id {
			works = append(works, w)
		}
	}
	return works
}

func (r *readSurroundings) worksScaling(f *judge.Facts) iter.Seq[*state.Work] {
	return func(yield func(*state.Work) bool) {
		for cluster := range f.Clusters {
			if !mayBeScaled(f, cluster) {
				continue
			}
			for _, autoscaler := range r.autoscalersOn(cluster) {
				if scaled, ok := autoscaler.Scales(); ok && scaled == f.ID && !yield(autoscaler) {
					return
				}
			}
		}
	}
}

// autoscalersOn lists the Works of autoscalers on a cluster, once.
func (r *readSurroundings) autoscalersOn(cluster string) []*state.Work {
	if known, ok := r.reader.autoscalerWorks[cluster]; ok || r.err != nil {
		return known
	}
	var found []*state.Work
	_, err := EachWork(r.ctx, r.reader.client, render.ExecutionNamespace(cluster), func(obj *unstructured.Unstructured) {
		if w := state.NewWork(obj); w.Source.GroupKind() == state.AutoscalerKind {
			found = append(found, w)
		}
	})
	if err != nil {
		r.fail(err)
		return nil
	}
	r.reader.autoscalerWorks[cluster] = found
	return found
}

// mayBeScaled reports whether an autoscaler that nobody asks for may scale a source on a
// cluster: its Work there says so, or is not there yet. Nothing of the core group that is
// mirrored can be scaled.
func mayBeScaled(f *judge.Facts, cluster string) bool {
	if w, ok := f.Works[cluster]; ok {
		return w.Retains()
	}
	return f.ID.Namespace != "" && f.ID.Group != "" && f.Source.Terms.Matches(cluster, f.Clusters[cluster].Labels)
}

func (r *readSurroundings) WorkAt(id render.Identity, cluster string) (*state.Work, bool) {
	if r.err != nil || r.knownClusters[cluster] == nil {
		return nil, false
	}
	obj, err := r.reader.client.Resource(render.WorksResource).Namespace(render.ExecutionNamespace(cluster)).Get(r.ctx, id.WorkName(), metav1.GetOptions{})
	if err != nil {
		if !apierrors.IsNotFound(err) {
			r.fail(fmt.Errorf("cannot read the Work for cluster %q: %w", cluster, err))
		}
		return nil, false
	}
	return r.reader.see(obj), true
}

func (r *readSurroundings) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
