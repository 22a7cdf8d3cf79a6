package mirror

import (
	"context"
	"fmt"
	"iter"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"github.com/karmada-target/karmada-mirror/render"
)

// Survey is a Reader that has read what all sources share, so that the Facts of very
// many cost no request each.
type Survey struct {
	*Reader
	// Version is the resource version of the Works, from which they can be watched.
	Version string
	of      map[render.Identity][]*Work
	at      map[types.NamespacedName]*Work
}

// Survey reads the Works that bear our label; and the Namespaces, unless the sources to
// be looked at are all in the one that is named.
func (r *Reader) Survey(ctx context.Context, namespace string) (*Survey, error) {
	s := &Survey{Reader: r, of: map[render.Identity][]*Work{}, at: map[types.NamespacedName]*Work{}}
	if err := s.readWorks(ctx); err != nil {
		return nil, err
	}
	if namespace != "" {
		return s, nil
	}
	list, err := r.client.Resource(namespacesResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot list the namespaces: %w", err)
	}
	for i := range list.Items {
		r.namespaces[list.Items[i].GetName()] = newNamespace(&list.Items[i])
	}
	return s, nil
}

func (s *Survey) readWorks(ctx context.Context) (err error) {
	s.Version, err = eachOfOurs(ctx, s.client, func(obj *unstructured.Unstructured) {
		w := s.see(obj)
		s.at[types.NamespacedName{Namespace: w.Namespace, Name: w.Name}] = w
		if w.names() {
			s.of[w.Source] = append(s.of[w.Source], w)
		}
	})
	return err
}

// eachOfOurs lists the Works that bear our label, in pages, and returns their resource
// version.
func eachOfOurs(ctx context.Context, client dynamic.Interface, do func(*unstructured.Unstructured)) (version string, err error) {
	works := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		list, err := client.Resource(WorksResource).List(ctx, o)
		if err == nil {
			version = list.GetResourceVersion()
		}
		return list, err
	})
	err = works.EachListItem(ctx, metav1.ListOptions{LabelSelector: OurWorks}, func(obj runtime.Object) error {
		do(obj.(*unstructured.Unstructured))
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("cannot list the Works: %w", err)
	}
	return version, nil
}

// Facts are those of a source that was read just now. A Work that is missing may be
// there as somebody else's, so that a source that lacks one is read anew on its own.
func (s *Survey) Facts(ctx context.Context, ref SourceRef, obj *unstructured.Unstructured) (Facts, error) {
	f, err := s.Reader.facts(ctx, ref, obj, surveyed{s.Reader.clusters, s})
	if err != nil {
		return Facts{}, err
	}
	for cluster, target := range Decide(f).Targets {
		if target.Decision == Wanted && f.Works[cluster] == nil {
			return s.Reader.Facts(ctx, ref, obj)
		}
	}
	return f, nil
}

// Sources are those that Works name, in no order.
func (s *Survey) Sources() iter.Seq[render.Identity] { return maps.Keys(s.of) }

// Unserved are the Facts of a source whose kind the API server does not serve.
func (s *Survey) Unserved(id render.Identity) Facts {
	f := Facts{ID: id, Unknown: fmt.Sprintf("the API server does not serve kind %q", id.GroupKind())}
	f.addSurroundings(surveyed{s.Reader.clusters, s})
	return f
}

// surveyed are the surroundings that a Survey knows.
type surveyed struct {
	knownClusters
	*Survey
}

func (s surveyed) worksOf(id render.Identity) []*Work { return s.of[id] }

func (s surveyed) workAt(id render.Identity, cluster string) (*Work, bool) {
	w, ok := s.at[types.NamespacedName{Namespace: render.ExecutionNamespace(cluster), Name: id.WorkName()}]
	return w, ok
}
