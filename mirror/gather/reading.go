package gather

import (
	"context"
	"fmt"
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// reading is the store of a Reader that reads one source. It stops at the first failure.
type reading struct {
	*Reader
	ctx context.Context
	ref SourceRef
	// version is that of the source; empty if it is that of the ref.
	version string
	err     error
}

func (r *reading) inForce() *config.Configuration { return r.configuration }

func (r *reading) ResourceOf(id render.Identity) string {
	if id != r.ref.Identity() {
		if mapping, err := r.mapper.RESTMapping(id.GroupKind()); err == nil {
			return mapping.Resource.GroupResource().String()
		}
	}
	return r.ref.Mapping.Resource.GroupResource().String()
}

func (r *reading) clusterNames() []string { return r.clusters.clusterNames() }

func (r *reading) clusterFacts(name string) judge.ClusterFacts { return r.clusters.clusterFacts(name) }

func (r *reading) worksOf(id render.Identity) []*state.Work {
	var works []*state.Work
	_, err := r.eachWork(r.ctx, render.SourceIDLabel+"="+id.ID(), func(obj *unstructured.Unstructured) {
		if w := r.see(obj); w.Source == id {
			works = append(works, w)
		}
	})
	if err != nil {
		r.fail(err)
	}
	return works
}

func (r *reading) Works() iter.Seq[*state.Work] {
	return func(yield func(*state.Work) bool) {
		if _, err := r.eachWork(r.ctx, render.OurWorks, func(obj *unstructured.Unstructured) { yield(state.NewWork(obj)) }); err != nil {
			r.fail(err)
		}
	}
}

func (r *reading) worksScaling(f *judge.Facts) iter.Seq[*state.Work] {
	return func(yield func(*state.Work) bool) {
		for cluster := range f.Clusters {
			if r.clusters[cluster] == nil || !mayBeScaled(f, cluster) {
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

// autoscalersOn lists the Works of autoscalers for a cluster, once.
func (r *reading) autoscalersOn(cluster string) []*state.Work {
	if known, ok := r.autoscalerWorks[cluster]; ok || r.err != nil || r.HidesWorks(cluster) {
		return known
	}
	var found []*state.Work
	_, err := eachWorkIn(r.ctx, r.client, render.ExecutionNamespace(cluster), render.OurWorks, func(obj *unstructured.Unstructured) {
		if w := state.NewWork(obj); state.IsAutoscaler(w.Source.GroupKind()) {
			found = append(found, w)
		}
	})
	if apierrors.IsForbidden(err) {
		r.hideWorks(cluster)
		return nil
	}
	if err != nil {
		r.fail(err)
		return nil
	}
	r.autoscalerWorks[cluster] = found
	return found
}

// mayBeScaled reports whether an unwanted autoscaler may still scale a source in a cluster: the
// source's Work there retains replicas, or does not exist yet.
func mayBeScaled(f *judge.Facts, cluster string) bool {
	if w, ok := f.Works[cluster]; ok {
		return w.Retains()
	}
	return isScalable(f.ID) && f.Source.Terms.Matches(cluster, f.Clusters[cluster].Labels)
}

func (r *reading) WorkAt(_ render.Identity, cluster, name string) (*state.Work, bool) {
	if r.err != nil || r.clusters[cluster] == nil || r.HidesWorks(cluster) {
		return nil, false
	}
	obj, err := r.client.Resource(render.WorksResource).Namespace(render.ExecutionNamespace(cluster)).Get(r.ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, false
	case apierrors.IsForbidden(err):
		r.hideWorks(cluster)
		return nil, false
	case err != nil:
		r.fail(fmt.Errorf("cannot read the Work for cluster %q: %w", cluster, err))
		return nil, false
	}
	return r.see(obj), true
}

func (r *reading) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
