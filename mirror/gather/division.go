package gather

import (
	"context"
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

// scale adds what is divided over the clusters of a source.
func (c *Caches) scale(f *judge.Facts) {
	f.Scale = nil
	if !isDivided(f.Source) {
		return
	}
	path := ""
	if w, _ := c.watchOf(f.ID); w != nil && mayBeDefined(w.Resource.GroupResource) {
		definition, found, synced := c.customResources.Get("", w.Resource.String())
		if !synced {
			f.Scale = &judge.Scale{Fault: "the CustomResourceDefinitions have not synced"}
			return
		}
		if found {
			path = definition.(*state.Definition).ReplicasPath(w.Status().Served.Resource.Version)
		}
	}
	f.Scale = scaleOf(f.Source, path, c.scales.read)
	keepShares(f)
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

// scale adds what is divided over the clusters of a source.
func (r *Reader) scale(ctx context.Context, f *judge.Facts, ref SourceRef) error {
	if !isDivided(f.Source) {
		return nil
	}
	path := ""
	if gr := ref.Mapping.Resource.GroupResource(); mayBeDefined(gr) {
		obj, err := r.client.Resource(state.DefinitionsResource).Get(ctx, gr.String(), metav1.GetOptions{})
		switch {
		case apierrors.IsForbidden(err):
			r.Hide("CustomResourceDefinition " + gr.String())
		case err == nil:
			path = state.NewDefinition(obj).ReplicasPath(ref.Mapping.Resource.Version)
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("cannot read the definition %q: %w", gr, err)
		}
	}
	f.Scale = scaleOf(f.Source, path, (*render.Manifest).Scale)
	keepShares(f)
	return nil
}
