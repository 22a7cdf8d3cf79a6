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
// as the daemon. It reads the clusters once.
type Reader struct {
	client        dynamic.Interface
	configuration *config.Configuration
	clusters      map[string]*Cluster
}

// NewReader reads the clusters.
func NewReader(ctx context.Context, client dynamic.Interface, configuration *config.Configuration) (*Reader, error) {
	list, err := client.Resource(clustersResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot list the clusters: %w", err)
	}
	r := &Reader{client: client, configuration: configuration, clusters: map[string]*Cluster{}}
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
	if obj == nil {
		obj, err = r.client.Resource(ref.Mapping.Resource).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil && !provesAbsence(err, ref.Name) {
			return Facts{}, fmt.Errorf("cannot read %s %q: %w", gr, ref.Name, err)
		}
	}
	if obj != nil && err == nil {
		f.Wishes = render.ReadWishes(obj.GetAnnotations()).Over(namespace.Wishes)
		f.Source = NewSource(obj.DeepCopy(), namespace.Wishes)
	}
	s := &readSurroundings{Reader: r, ctx: ctx}
	f.addSurroundings(s)
	f.NamespaceSkipped = skipsPropagation(namespace.Labels)
	f.authorize(r.configuration, config.Source{Resource: gr.String(), Namespace: ref.Namespace, NamespaceLabels: namespace.Labels})
	return f, s.err
}

func (r *Reader) namespace(ctx context.Context, name string) (*Namespace, error) {
	if name == "" {
		return &Namespace{}, nil
	}
	obj, err := r.client.Resource(namespacesResource).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return &Namespace{}, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read namespace %q: %w", name, err)
	}
	return newNamespace(obj), nil
}

// readSurroundings are those of the API server. The first failure ends it.
type readSurroundings struct {
	*Reader
	ctx context.Context
	err error
}

func (r *readSurroundings) worksOf(id render.Identity) []*Work {
	list, err := r.client.Resource(WorksResource).List(r.ctx, metav1.ListOptions{LabelSelector: render.SourceIDLabel + "=" + id.ID()})
	if err != nil {
		r.fail(fmt.Errorf("cannot list the Works of %q: %w", id, err))
		return nil
	}
	var works []*Work
	for i := range list.Items {
		if w := NewWork(&list.Items[i]); w.Source == id {
			works = append(works, w)
		}
	}
	return works
}

func (r *readSurroundings) workAt(id render.Identity, cluster string) (*Work, bool) {
	if r.err != nil || r.Reader.clusters[cluster] == nil {
		return nil, false
	}
	obj, err := r.client.Resource(WorksResource).Namespace(render.ExecutionNamespace(cluster)).Get(r.ctx, id.WorkName(), metav1.GetOptions{})
	if err != nil {
		if !apierrors.IsNotFound(err) {
			r.fail(fmt.Errorf("cannot read the Work for cluster %q: %w", cluster, err))
		}
		return nil, false
	}
	return NewWork(obj), true
}

func (r *readSurroundings) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *readSurroundings) clusters() []string {
	return slices.Sorted(maps.Keys(r.Reader.clusters))
}

func (r *readSurroundings) clusterFacts(name string, kind schema.GroupKind) ClusterFacts {
	cluster := r.Reader.clusters[name]
	if cluster == nil {
		return ClusterFacts{}
	}
	return cluster.facts(kind)
}
