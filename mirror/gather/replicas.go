package gather

import (
	"cmp"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// isDivided reports whether the replicas of a source are to be divided over its clusters.
func isDivided(s *judge.Source) bool {
	return s != nil && s.Template != nil && s.Differences.Division.Divides()
}

// addScale adds what is divided over the clusters of a source.
func addScale(f *judge.Facts, s store) {
	f.Scale = nil
	if !isDivided(f.Source) {
		return
	}
	path, err := s.replicasPath(f.ID)
	if err != nil {
		f.Scale = &judge.Scale{Fault: err.Error()}
		return
	}
	f.Scale = scaleOf(f.Source, path, s.scale)
	keepShares(f)
}

func (c *Caches) replicasPath(id render.Identity) (string, error) {
	w, _ := c.watchOf(id)
	if w == nil || !mayBeDefined(w.Resource.GroupResource) {
		return "", nil
	}
	definition, found, synced := c.customResources.Get("", w.Resource.String())
	switch {
	case !synced:
		return "", errors.New("the CustomResourceDefinitions have not synced")
	case !found:
		return "", nil
	}
	return definition.(*state.Definition).ReplicasPath(w.Status().Served.Resource.Version), nil
}

func (c *Caches) scale(m *render.Manifest, p render.ScalePaths) (render.Scale, error) {
	return c.options.Memory.Scale(m, p)
}

// keepShares makes nothing certain about the replicas of a source whose Works have shares, if its
// kind has no replicas by now: its definition may be missing for a moment.
func keepShares(f *judge.Facts) {
	if f.Scale != nil {
		return
	}
	for _, w := range f.Works {
		if _, isDivided := w.Notes().Replicas(); isDivided && w.Source == f.ID {
			f.Scale = &judge.Scale{Fault: "its replicas are divided, but the definition of its kind does not say where they are"}
			return
		}
	}
}

// scaleOf returns what is divided over the clusters of a source; nil if its kind has no replicas.
// path is where its definition says that they are.
func scaleOf(s *judge.Source, path string, read func(*render.Manifest, render.ScalePaths) (render.Scale, error)) *judge.Scale {
	paths, isScaled := render.ScalePathsOf(s.ID.GroupKind(), path)
	if !isScaled {
		return nil
	}
	scale, err := read(s.Template.Manifest, paths)
	if err != nil {
		return &judge.Scale{Fault: err.Error()}
	}
	return &judge.Scale{Paths: paths, Scale: scale}
}

func (r *reading) replicasPath(render.Identity) (path string, _ error) {
	gr := r.ref.Mapping.Resource.GroupResource()
	if !mayBeDefined(gr) || r.err != nil {
		return "", nil
	}
	obj, err := r.client.Resource(state.DefinitionsResource).Get(r.ctx, gr.String(), metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		r.Hide("CustomResourceDefinition " + gr.String())
	case err == nil:
		path = state.NewDefinition(obj).ReplicasPath(cmp.Or(r.version, r.ref.Mapping.Resource.Version))
	case !apierrors.IsNotFound(err):
		r.fail(fmt.Errorf("cannot read the definition %q: %w", gr, err))
	}
	return path, nil
}

func (r *reading) scale(m *render.Manifest, p render.ScalePaths) (render.Scale, error) {
	return m.Scale(p)
}
