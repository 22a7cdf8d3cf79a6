package gather

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
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
	f.NeededBy = nil
	mayBeDue := func(cluster string) bool { return mayBeDue(f, cluster) }
	if !isNeeded(f.ID.GroupKind()) || !slices.ContainsFunc(slices.Collect(maps.Keys(f.Works)), mayBeDue) {
		return
	}
	needing := workloadsNeeding(f, s)
	f.NeededBy = map[string]render.Identity{}
	for _, id := range slices.SortedFunc(maps.Keys(needing), func(a, b render.Identity) int { return cmp.Compare(b.String(), a.String()) }) {
		j := s.judged(id, needing[id])
		for _, works := range []map[string]*state.Work{j.Facts.Works, j.Facts.Vanished} {
			for cluster, w := range works {
				if mayBeDue(cluster) && w.IsOursFor(id) && w.MayNeed(f.ID) && j.IsUnderWay(w) {
					f.NeededBy[cluster] = id
				}
			}
		}
	}
}

// workloadsNeeding returns the workloads whose Pods need a source by their Works, and these.
func workloadsNeeding(f *judge.Facts, s store) map[render.Identity][]*state.Work {
	all := map[render.Identity][]*state.Work{}
	for w := range s.worksNeeding(f) {
		if w.IsOursFor(w.Source) && w.MayNeed(f.ID) {
			all[w.Source] = append(all[w.Source], w)
		}
	}
	return all
}

// mayBeDue reports whether a source does not ask for a cluster where it has a Work.
func mayBeDue(f *judge.Facts, cluster string) bool {
	s := f.Source
	return f.Works[cluster] != nil && (s == nil || s.Refusal == nil) && (s == nil || !s.Asks || !s.Terms.Matches(cluster, f.Clusters[cluster].Labels))
}

func (c *Caches) worksNeeding(f *judge.Facts) iter.Seq[*state.Work] {
	return each[state.Work](append(c.works.ByIndex(needsIndex, sourceBucket(f.ID)), c.works.ByIndex(needsIndex, anyBucket)...))
}

func (c *Caches) judged(id render.Identity, _ []*state.Work) judge.Judgement {
	return judge.On(c.facts(id))
}

// fewWorkloads bounds the workloads that are read though the caches know no waves of them: these may be as new as the deletion.
// What more of them need could not be proved unneeded on a slow API server.
const fewWorkloads = 8

// proving is a store that confirms by live reads that workloads do not need a source any more.
type proving struct {
	*Caches
	ctx context.Context
	// areFew: the workloads that may need the source are so few that each is read.
	areFew bool

	mu   sync.Mutex
	live map[render.Identity]judge.Judgement
	// leaders are those that were read; nil for one that does not exist.
	leaders map[render.Identity]*state.Object
	err     error
}

func newProving(ctx context.Context, c *Caches) *proving {
	return &proving{Caches: c, ctx: ctx, live: map[render.Identity]judge.Judgement{}, leaders: map[render.Identity]*state.Object{}}
}

// judged reads a workload if the caches say that its Pods do not need what they needed, or wait for nothing.
func (p *proving) judged(id render.Identity, works []*state.Work) judge.Judgement {
	j := p.Caches.judged(id, works)
	s := j.Facts.Source
	hasWaves := s != nil && !s.Waves.IsEmpty() || slices.ContainsFunc(works, func(w *state.Work) bool { return w.Notes().Written != "" })
	if !hasWaves && !p.areFew || slices.ContainsFunc(works, j.IsUnderWay) {
		return j
	}
	p.mu.Lock()
	known, isKnown := p.live[id]
	p.mu.Unlock()
	if isKnown {
		return known
	}
	f, err := p.liveFacts(p.ctx, id)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.live[id] = judge.On(f)
	case hasWaves:
		p.err = cmp.Or(p.err, err)
	default: // one that may not be read is not to hold up deletions
		p.live[id] = j
	}
	return p.live[id]
}

// begin reads the workloads that a source may have to be kept for, as the cache shows that.
func (p *proving) begin(f judge.Facts, reads *errgroup.Group) {
	if !isNeeded(f.ID.GroupKind()) || !slices.ContainsFunc(slices.Collect(maps.Keys(f.Works)), func(cluster string) bool { return mayBeDue(&f, cluster) }) {
		return
	}
	needing := workloadsNeeding(&f, p.Caches)
	p.areFew = len(needing) <= fewWorkloads
	for id, works := range needing {
		reads.Go(func() (err error) { defer state.Catch(&err); p.judged(id, works); return nil })
	}
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

func (r *reading) judged(id render.Identity, _ []*state.Work) judge.Judgement {
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
