package gather

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Survey is a Reader that has read what all sources share, so that the Facts of very
// many cost no request each.
type Survey struct {
	*Reader
	// Version is the resource version of the Works, from which they can be watched.
	Version string
	of      map[render.Identity][]*state.Work
	at      map[types.NamespacedName]*state.Work
	scaling map[render.Identity][]*state.Work
}

// Survey reads the Works that bear our label; and the Namespaces, unless the sources to
// be looked at are all in the one that is named.
func (r *Reader) Survey(ctx context.Context, namespace string) (*Survey, error) {
	s := &Survey{Reader: r, of: map[render.Identity][]*state.Work{}, at: map[types.NamespacedName]*state.Work{}, scaling: map[render.Identity][]*state.Work{}}
	if err := s.readWorks(ctx); err != nil {
		return nil, err
	}
	if namespace != "" {
		return s, nil
	}
	list, err := r.client.Resource(state.NamespacesResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot list the namespaces: %w", err)
	}
	for i := range list.Items {
		r.namespaces[list.Items[i].GetName()] = state.NewNamespace(&list.Items[i])
	}
	return s, nil
}

func (s *Survey) readWorks(ctx context.Context) (err error) {
	s.Version, err = EachWork(ctx, s.client, metav1.NamespaceAll, func(obj *unstructured.Unstructured) {
		w := s.see(obj)
		s.at[types.NamespacedName{Namespace: w.Namespace, Name: w.Name}] = w
		if w.NamesSource() {
			s.of[w.Source] = append(s.of[w.Source], w)
		}
		if scaled, ok := w.Scales(); ok {
			s.scaling[scaled] = append(s.scaling[scaled], w)
		}
	})
	return err
}

// EachWork lists the Works in a namespace, or in all, that bear our label, in pages, and
// returns their resource version.
func EachWork(ctx context.Context, client dynamic.Interface, namespace string, do func(*unstructured.Unstructured)) (version string, err error) {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		list, err := client.Resource(render.WorksResource).Namespace(namespace).List(ctx, o)
		if err == nil {
			version = list.GetResourceVersion()
		}
		return list, err
	})
	err = pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: render.OurWorks}, func(obj runtime.Object) error {
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
func (s *Survey) Facts(ctx context.Context, ref SourceRef, obj *unstructured.Unstructured) (judge.Facts, error) {
	f, err := s.Reader.facts(ctx, ref, obj, surveyed{s.Reader.clusters, s})
	if err != nil {
		return judge.Facts{}, err
	}
	for cluster, target := range judge.Decide(f).Targets {
		if target.Decision == judge.Wanted && f.Works[cluster] == nil {
			return s.Reader.Facts(ctx, ref, obj)
		}
	}
	return f, nil
}

// Sources are those that Works name, in no order.
func (s *Survey) Sources() iter.Seq[render.Identity] { return maps.Keys(s.of) }

// Unserved are the Facts of a source whose kind the API server does not serve.
func (s *Survey) Unserved(id render.Identity) judge.Facts {
	f := judge.Facts{ID: id, Unknown: fmt.Sprintf("the API server does not serve kind %q", id.GroupKind())}
	addSurroundings(&f, surveyed{s.Reader.clusters, s})
	return f
}

// surveyed are the surroundings that a Survey knows.
type surveyed struct {
	knownClusters
	*Survey
}

func (s surveyed) worksOf(id render.Identity) []*state.Work { return s.of[id] }

func (s surveyed) worksScaling(f *judge.Facts) iter.Seq[*state.Work] {
	return slices.Values(s.scaling[f.ID])
}

func (s surveyed) WorkAt(id render.Identity, cluster string) (*state.Work, bool) {
	w, ok := s.at[types.NamespacedName{Namespace: render.ExecutionNamespace(cluster), Name: id.WorkName()}]
	return w, ok
}
