package mirror

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
)

// Reader gathers Facts by live reads alone, so that a command comes to the same Verdict
// as the daemon. It reads the clusters once, and each Namespace.
type Reader struct {
	client        dynamic.Interface
	configuration *config.Configuration
	clusters      map[string]*Cluster
	namespaces    map[string]*Namespace
	// Seen is called for each Work that is read; nil if nobody wants to know.
	Seen func(*unstructured.Unstructured)
}

// NewReader reads the clusters.
func NewReader(ctx context.Context, client dynamic.Interface, configuration *config.Configuration) (*Reader, error) {
	list, err := client.Resource(ClustersResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot list the clusters: %w", err)
	}
	r := &Reader{client: client, configuration: configuration, clusters: map[string]*Cluster{}, namespaces: map[string]*Namespace{}}
	for i := range list.Items {
		r.clusters[list.Items[i].GetName()] = NewCluster(&list.Items[i])
	}
	return r, nil
}

// Cluster is what is known of a member cluster; nil if there is none.
func (r *Reader) Cluster(name string) *Cluster { return r.clusters[name] }

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
func (r *Reader) Facts(ctx context.Context, ref SourceRef, obj *unstructured.Unstructured) (Facts, error) {
	s := &readSurroundings{knownClusters: r.clusters, reader: r, ctx: ctx}
	f, err := r.facts(ctx, ref, obj, s)
	if err != nil {
		return Facts{}, err
	}
	return f, s.err
}

func (r *Reader) facts(ctx context.Context, ref SourceRef, obj *unstructured.Unstructured, s surroundings) (Facts, error) {
	f := Facts{ID: ref.Identity(), Live: true}
	gr := ref.Mapping.Resource.GroupResource()
	switch resource, ok := r.configuration.Resource(gr); {
	case !ok:
		f.Unknown = fmt.Sprintf("%s is not among the resources of the configuration", gr)
	case !resource.SelectsNamespace(ref.Namespace):
		f.Unknown = fmt.Sprintf("the configuration leaves out namespace %q of %q", ref.Namespace, gr)
	}
	namespace, err := r.namespace(ctx, ref.Namespace)
	if err != nil {
		return Facts{}, err
	}
	if obj == nil && f.Unknown == "" {
		obj, err = r.client.Resource(ref.Mapping.Resource).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil && !provesAbsence(err, ref.Name) {
			return Facts{}, fmt.Errorf("cannot read %s %q: %w", gr, ref.Name, err)
		}
	}
	if obj != nil && err == nil {
		f.Wishes = render.ReadWishes(obj.GetAnnotations()).Over(namespace.Wishes)
		f.Source = NewSource(obj.DeepCopy(), namespace.Wishes)
	}
	f.addSurroundings(s)
	f.NamespaceSkipped = skipsPropagation(namespace.Labels)
	f.authorize(r.configuration, config.Source{Resource: gr.String(), Namespace: ref.Namespace, NamespaceLabels: namespace.Labels})
	return f, nil
}

// see reduces a Work that has been read.
func (r *Reader) see(obj *unstructured.Unstructured) *Work {
	if r.Seen != nil {
		r.Seen(obj)
	}
	return NewWork(obj)
}

func (r *Reader) namespace(ctx context.Context, name string) (*Namespace, error) {
	if name == "" {
		return &Namespace{}, nil
	}
	if known, ok := r.namespaces[name]; ok {
		return known, nil
	}
	obj, err := r.client.Resource(namespacesResource).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return &Namespace{}, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read namespace %q: %w", name, err)
	}
	r.namespaces[name] = newNamespace(obj)
	return r.namespaces[name], nil
}

// knownClusters are those that the Reader has read.
type knownClusters map[string]*Cluster

func (k knownClusters) clusters() []string { return slices.Sorted(maps.Keys(k)) }

func (k knownClusters) clusterFacts(name string, kind schema.GroupKind) ClusterFacts {
	cluster := k[name]
	if cluster == nil {
		return ClusterFacts{}
	}
	return cluster.facts(kind)
}

// readSurroundings are those of the API server. The first failure ends it.
type readSurroundings struct {
	knownClusters
	reader *Reader
	ctx    context.Context
	err    error
}

func (r *readSurroundings) worksOf(id render.Identity) []*Work {
	list, err := r.reader.client.Resource(WorksResource).List(r.ctx, metav1.ListOptions{LabelSelector: render.SourceIDLabel + "=" + id.ID()})
	if err != nil {
		r.fail(fmt.Errorf("cannot list the Works of %q: %w", id, err))
		return nil
	}
	var works []*Work
	for i := range list.Items {
		if w := r.reader.see(&list.Items[i]); w.Source == id {
			works = append(works, w)
		}
	}
	return works
}

func (r *readSurroundings) workAt(id render.Identity, cluster string) (*Work, bool) {
	if r.err != nil || r.knownClusters[cluster] == nil {
		return nil, false
	}
	obj, err := r.reader.client.Resource(WorksResource).Namespace(render.ExecutionNamespace(cluster)).Get(r.ctx, id.WorkName(), metav1.GetOptions{})
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
