package write

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// examine reads the Work that is missing in the cache but exists where one was to be
// created: it lacks our label, or the cache lags. The next sync sees it.
func (w *Writer) examine(ctx context.Context, id render.Identity, cluster, name string) (*state.Work, error) {
	found, err := w.Client.Get(ctx, render.ExecutionNamespace(cluster), name)
	if err == nil {
		w.Memory.Meet(id, cluster, found)
	}
	return found, err
}

// Find looks for the Works that the cache does not show on clusters where none is created now. One of them may be to take back.
func (w *Writer) Find(ctx context.Context, id render.Identity, clusters []string, share Share, o *Outcome) {
	var reads []judge.Operation
	for _, cluster := range clusters {
		if _, isMet := w.Memory.Stranger(id, cluster, id.WorkName()); !isMet && !w.Memory.HasMetNone(id, cluster) {
			reads = append(reads, judge.Operation{Cluster: cluster})
		}
	}
	w.examineEach(ctx, id, reads, share, o)
}

// FindAgain looks for the Works that were found too long ago to be trusted, where a judgement without them wants one: a sync that
// then knows them does not end what they refuse.
func (w *Writer) FindAgain(ctx context.Context, id render.Identity, share Share, judged func() judge.Judgement) error {
	old := w.Memory.OldStrangers(id)
	if len(old) == 0 {
		return nil
	}
	j, o, reads := judged(), &Outcome{}, []judge.Operation(nil)
	wanted := sets.New(j.Hidden()...)
	for _, op := range j.Plan {
		if op.Kind == judge.Create {
			wanted.Insert(op.Cluster)
		}
	}
	for _, work := range old {
		if wanted.Has(work.Cluster) {
			reads = append(reads, judge.Operation{Cluster: work.Cluster, Work: work})
		}
	}
	w.examineEach(ctx, id, reads, share, o)
	return o.Err()
}

// examineEach examines the Works of operations, or those of the shorter name.
func (w *Writer) examineEach(ctx context.Context, id render.Identity, reads []judge.Operation, share Share, o *Outcome) {
	w.Each(ctx, reads, share, o, func(op judge.Operation) {
		name := id.WorkName()
		if op.Work != nil {
			name = op.Work.Name
		}
		switch _, err := w.examine(ctx, id, op.Cluster, name); {
		case err == nil:
			o.LookAgain()
		case apierrors.IsNotFound(err):
			w.Memory.MeetNone(id, op.Cluster, name)
		default:
			o.Fail(fmt.Errorf("cannot read the Work for cluster %q: %w", op.Cluster, err))
		}
	})
}
