package judge

import (
	"sync"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Rendering is what the Works of some clusters are made from. An existing Work that is known to be
// as wanted is rendered only if it must be written all the same.
type Rendering struct {
	*render.Template // before it is edited
	edit             render.Edit
	options          render.Options
	notes            render.Notes
	digest           render.Digest
	immutable        render.Immutable
	// isIn reports whether a Work has the content, whatever it says of suspension and preservation.
	isIn   func(*state.Work) bool
	size   int
	edited func() (*render.Template, error)
	works  func() (render.Works, error)
}

// Digest is the digest of the Works.
func (r *Rendering) Digest() render.Digest { return r.digest }

// Notes are what the Works say of what was edited.
func (r *Rendering) Notes() render.Notes { return r.notes.OfEdit() }

// Size is about how many bytes each Work takes; that of the source's manifest if the Work has not
// been rendered.
func (r *Rendering) Size() int { return r.size }

// create returns the Work for a cluster.
func (r *Rendering) create(cluster string) ([]byte, error) {
	works, err := r.works()
	if err != nil {
		return nil, err
	}
	return works.For(cluster), nil
}

// update returns the patch of a Work for a cluster. It notes the generation that the Work gets: the same, if admission has made
// something else of the same content and, as is likely, does so again.
func (r *Rendering) update(op Operation, adopt bool) ([]byte, error) {
	t, err := r.edited()
	if err != nil {
		return nil, err
	}
	generation, w := op.Work.Generation, op.Work
	if w.Digest != r.digest && !(w.IsAltered() && w.Notes().Written == r.notes.Written) {
		generation++
	}
	return t.Patch(op.Cluster, op.Work.ResourceVersion, op.Work.Finalizers, generation, adopt), nil
}

// adjust returns the patch of a Work that waits. If it is suspended, it stays so. If nothing is rendered, the deletion of the
// Work is not due any more.
func (r *Rendering) adjust(w *state.Work) ([]byte, error) {
	if r == nil {
		return render.Unhold(w.ResourceVersion), nil
	}
	t, err := r.edited()
	if err != nil {
		return nil, err
	}
	isSuspended, generation := w.State == state.WorkSuspended, w.Generation
	if !isSuspended && (r.options.Suspend || w.DispatchGiven()) || r.options.PreserveOnDeletion != w.Preserves() {
		generation++
	}
	return t.Adjust(w.ResourceVersion, w.Finalizers, w.Renoted(generation), isSuspended, w.Foreign != ""), nil
}

// keptSize is the size up to which an edited manifest is kept until it is written. A source may have
// as many as clusters: larger ones are made again for each write.
const keptSize = 16 << 10

// newRendering renders at once. What is not edited is encoded once, when the first Work is created,
// even if several are created at the same time.
func newRendering(t *render.Template, e render.Edit, o render.Options) (*Rendering, error) {
	edited, err := t.With(e)
	if err != nil {
		return nil, err
	}
	content := edited.Content()
	r := &Rendering{Template: t, edit: e, options: o, notes: edited.Notes(), digest: edited.Digest(), immutable: edited.Immutable(), size: edited.Size()}
	r.isIn = func(w *state.Work) bool {
		return w.Digest == content.Digest(w.State == state.WorkSuspended, w.Preserves())
	}
	if e.Changes(t.Manifest) && r.size > keptSize {
		r.renderPerWrite()
		return r, nil
	}
	r.edited = func() (*render.Template, error) { return edited, nil }
	r.works = sync.OnceValues(r.encode)
	return r, nil
}

// newRendered is the rendering of a Work that has these notes and this digest, as wanted.
func newRendered(t *render.Template, e render.Edit, o render.Options, n render.Notes, d render.Digest) *Rendering {
	r := &Rendering{Template: t, edit: e, options: o, notes: n, digest: d, size: t.Size()}
	r.isIn = func(w *state.Work) bool { return w.Digest == d }
	r.renderPerWrite()
	return r
}

// renderPerWrite makes a Rendering render for each write.
func (r *Rendering) renderPerWrite() {
	r.edited = func() (*render.Template, error) { return r.Template.With(r.edit) }
	r.works = r.encode
}

func (r *Rendering) encode() (render.Works, error) {
	t, err := r.edited()
	if err != nil {
		return render.Works{}, err
	}
	return t.Works(), nil
}
