package gather

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// addNeeding notes on which clusters a Work that may be due is still needed: by the Pods of a workload that goes from cluster to
// cluster in waves, and is not through. It may have to go back, too. What another user has deleted there may come back.
func addNeeding(f *judge.Facts, s store) {
	mayBeDue := func(cluster string) bool { return mayBeDue(f, cluster) }
	if !isNeeded(f.ID.GroupKind()) || !slices.ContainsFunc(slices.Collect(maps.Keys(f.Works)), mayBeDue) {
		return
	}
	judged := map[render.Identity]judge.Judgement{}
	for w := range s.worksNeeding(f) {
		if _, isKnown := judged[w.Source]; !isKnown && w.IsOursFor(w.Source) && w.MayNeed(f.ID) {
			judged[w.Source] = s.judged(w.Source)
		}
	}
	f.NeededBy = map[string]render.Identity{}
	for _, id := range slices.SortedFunc(maps.Keys(judged), func(a, b render.Identity) int { return cmp.Compare(b.String(), a.String()) }) {
		j := judged[id]
		for _, works := range []map[string]*state.Work{j.Facts.Works, j.Facts.Vanished} {
			for cluster, w := range works {
				if mayBeDue(cluster) && w.IsOursFor(id) && w.MayNeed(f.ID) && j.IsUnderWay(w) {
					f.NeededBy[cluster] = id
				}
			}
		}
	}
}

// mayBeDue reports whether a source does not ask for a cluster where it has a Work.
func mayBeDue(f *judge.Facts, cluster string) bool {
	s := f.Source
	return f.Works[cluster] != nil && (s == nil || s.Refusal == nil) && (s == nil || !s.Asks || !s.Terms.Matches(cluster, f.Clusters[cluster].Labels))
}

func (c *Caches) worksNeeding(f *judge.Facts) iter.Seq[*state.Work] {
	return each[state.Work](append(c.works.ByIndex(needsIndex, sourceBucket(f.ID)), c.works.ByIndex(needsIndex, anyBucket)...))
}

func (c *Caches) judged(id render.Identity) judge.Judgement { return judge.On(c.facts(id)) }

// proving is a store that judges other sources by live reads, too.
type proving struct {
	*Caches
	ctx context.Context
	err error
}

func (p *proving) judged(id render.Identity) judge.Judgement {
	f, err := p.liveFacts(p.ctx, id)
	if err != nil && p.err == nil {
		p.err = err
	}
	return judge.On(f)
}

// NeededByWorksOf returns what the Pods of a source need by its Works.
func (c *Caches) NeededByWorksOf(id render.Identity) sets.Set[render.Identity] {
	needed := sets.Set[render.Identity]{}
	for _, w := range c.worksOf(id) {
		needed.Insert(w.Needs()...)
	}
	return needed
}

// worksNeeding reads the Works on the clusters that the source does not ask for.
func (r *reading) worksNeeding(f *judge.Facts) iter.Seq[*state.Work] {
	return func(yield func(*state.Work) bool) {
		for cluster := range f.Works {
			if !mayBeDue(f, cluster) || r.err != nil || r.HidesWorks(cluster) {
				continue
			}
			_, err := eachWorkIn(r.ctx, r.client, render.ExecutionNamespace(cluster), render.OurWorks, func(obj *unstructured.Unstructured) { yield(state.NewWork(obj)) })
			switch {
			case apierrors.IsForbidden(err):
				r.hideWorks(cluster)
			case err != nil:
				r.fail(err)
			}
		}
	}
}

func (r *reading) judged(id render.Identity) judge.Judgement {
	unknown := judge.Judgement{Facts: judge.Facts{ID: id, Unknown: "it cannot be read", Unwatched: true}}
	mapping, err := r.mapper.RESTMapping(id.GroupKind())
	if err != nil {
		return unknown
	}
	f, err := r.Reader.Facts(r.ctx, SourceRef{Mapping: mapping, Namespace: id.Namespace, Name: id.Name}, nil)
	switch {
	case err == nil:
		return judge.On(f)
	case apierrors.IsForbidden(err):
		r.Hide(id.String())
	default:
		r.fail(err)
	}
	return unknown
}
