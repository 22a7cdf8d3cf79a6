package gather

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// Survey is a Reader that has read what all sources share, so that the Facts of very many
// sources do not cost a request each.
type Survey struct {
	*Reader
	// isAlone: nothing that sources share was read.
	isAlone bool
	// Version is the resource version of the Works, from which a watch can start.
	Version string
	of      map[render.Identity][]*state.Work
	at      map[types.NamespacedName]*state.Work
	scaling map[render.Identity][]*state.Work
	needing map[render.Identity][]*state.Work
}

// Alone returns a Survey of a few sources: it reads each by itself.
func (r *Reader) Alone() *Survey { return &Survey{Reader: r, isAlone: true} }

// Survey reads the Works that have our label, and all Namespaces, unless a namespace says that
// all sources are in that one.
func (r *Reader) Survey(ctx context.Context, namespace string) (*Survey, error) {
	s := &Survey{Reader: r, of: map[render.Identity][]*state.Work{}, at: map[types.NamespacedName]*state.Work{}, scaling: map[render.Identity][]*state.Work{}, needing: map[render.Identity][]*state.Work{}}
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
		r.know(&list.Items[i])
	}
	return s, nil
}

func (s *Survey) readWorks(ctx context.Context) (err error) {
	s.Version, err = s.eachWork(ctx, render.OurWorks, func(obj *unstructured.Unstructured) { s.add(s.see(obj)) })
	return err
}

func (s *Survey) add(w *state.Work) {
	s.at[types.NamespacedName{Namespace: w.Namespace, Name: w.Name}] = w
	if w.NamesSource() {
		s.of[w.Source] = append(s.of[w.Source], w)
	}
	if scaled, ok := w.Scales(); ok {
		s.scaling[scaled] = append(s.scaling[scaled], w)
	}
	for _, needed := range needsOf(w) {
		s.needing[needed] = append(s.needing[needed], w)
	}
}

// Update notes that a Work has changed or, if isDeleted, that it no longer exists or no longer has
// our label. It returns the sources whose Work it is, and was.
func (s *Survey) Update(obj *unstructured.Unstructured, isDeleted bool) (sources []render.Identity) {
	clear(s.carried) // they follow from the Works
	at := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if before := s.at[at]; before != nil {
		s.remove(before)
		sources = append(sources, before.Source)
	}
	if !isDeleted {
		w := s.see(obj)
		s.add(w)
		sources = append(sources, w.Source)
	}
	return sources
}

func (s *Survey) remove(w *state.Work) {
	delete(s.at, types.NamespacedName{Namespace: w.Namespace, Name: w.Name})
	drop(s.of, w.Source, w)
	if scaled, ok := w.Scales(); ok {
		drop(s.scaling, scaled, w)
	}
	for _, needed := range needsOf(w) {
		drop(s.needing, needed, w)
	}
}

// needsOf returns what the Pods of a Work need; the zero value if that may be anything.
func needsOf(w *state.Work) []render.Identity {
	if w.MayNeedAnything() {
		return []render.Identity{{}}
	}
	return w.Needs()
}

func drop(works map[render.Identity][]*state.Work, id render.Identity, w *state.Work) {
	works[id] = slices.DeleteFunc(works[id], func(known *state.Work) bool { return known == w })
	if len(works[id]) == 0 {
		delete(works, id)
	}
}

// EachWork lists the Works that have our label, in pages, and returns their resource version.
func EachWork(ctx context.Context, client dynamic.Interface, do func(*unstructured.Unstructured)) (version string, err error) {
	return eachWorkIn(ctx, client, metav1.NamespaceAll, render.OurWorks, do)
}

// eachWork lists the Works that have a label. If the user may not list them in all namespaces,
// it lists them cluster by cluster where allowed; there is then no common resource version.
func (r *Reader) eachWork(ctx context.Context, selector string, do func(*unstructured.Unstructured)) (version string, err error) {
	if len(r.hidden.works) == 0 {
		if version, err = eachWorkIn(ctx, r.client, metav1.NamespaceAll, selector, do); !apierrors.IsForbidden(err) {
			return version, err
		}
	}
	for _, cluster := range r.visibleClusters() {
		_, err := eachWorkIn(ctx, r.client, render.ExecutionNamespace(cluster), selector, do)
		if apierrors.IsForbidden(err) {
			r.hideWorks(cluster)
		} else if err != nil {
			return "", err
		}
	}
	return "", nil
}

// eachWorkIn lists the Works that have a label, in one namespace or, if it is empty, in all.
func eachWorkIn(ctx context.Context, client dynamic.Interface, namespace, selector string, do func(*unstructured.Unstructured)) (version string, err error) {
	version, err = watch.Each(ctx, client.Resource(render.WorksResource).Namespace(namespace), metav1.ListOptions{LabelSelector: selector}, do)
	if err != nil {
		return "", fmt.Errorf("cannot list the Works: %w", err)
	}
	return version, nil
}

// Facts returns the facts about a source that was read just now. A missing Work may exist
// without our label, so a source that lacks one is read again on its own.
func (s *Survey) Facts(ctx context.Context, ref SourceRef, obj *unstructured.Unstructured) (judge.Facts, error) {
	if s.isAlone {
		return s.Reader.Facts(ctx, ref, obj)
	}
	live := &reading{Reader: s.Reader, ctx: ctx, ref: ref}
	f, _, err := s.Reader.facts(live, obj, surveyed{live, s})
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

func (r *Reader) know(namespace *unstructured.Unstructured) {
	if assumed := r.assumed[IdentityOf(namespace)]; assumed != nil {
		namespace = assumed
	}
	r.namespaces[namespace.GetName()] = state.NewNamespace(namespace)
}

// Sources returns the sources that Works name, in no particular order.
func (s *Survey) Sources() iter.Seq[render.Identity] { return maps.Keys(s.of) }

// Unread returns the Facts of a source that cannot be read, and why.
func (s *Survey) Unread(id render.Identity, why string) judge.Facts {
	f := judge.Facts{ID: id, Unknown: why}
	addWorks(&f, surveyed{&reading{Reader: s.Reader}, s})
	s.noteApprovals(f.Works)
	return f
}

// surveyed is a store that reads of Works what a Survey knows.
type surveyed struct {
	*reading
	survey *Survey
}

func (s surveyed) worksOf(id render.Identity) []*state.Work { return s.survey.of[id] }

func (s surveyed) Works() iter.Seq[*state.Work] { return maps.Values(s.survey.at) }

func (s surveyed) worksScaling(f *judge.Facts) iter.Seq[*state.Work] {
	return slices.Values(s.survey.scaling[f.ID])
}

func (s surveyed) worksNeeding(f *judge.Facts) iter.Seq[*state.Work] {
	return slices.Values(append(slices.Clone(s.survey.needing[f.ID]), s.survey.needing[render.Identity{}]...))
}

func (s surveyed) WorkAt(_ render.Identity, cluster, name string) (*state.Work, bool) {
	w, ok := s.survey.at[types.NamespacedName{Namespace: render.ExecutionNamespace(cluster), Name: name}]
	return w, ok
}
