package judge

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/render/override"
)

// Rendering is what the Works of some clusters are made from. It is encoded once, when the first of
// them is created, even if several are created at the same time. If an existing Work is known to
// be as wanted, it is rendered only when that must be written.
type Rendering struct {
	*render.Template // before it is edited
	edit             render.Edit
	notes            render.Notes
	digest           render.Digest
	edited           func() (*render.Template, error)
	works            func() (render.Works, error)
}

// Digest is the digest of the Works.
func (r *Rendering) Digest() render.Digest { return r.digest }

// create returns the Work for a cluster.
func (r *Rendering) create(cluster string) ([]byte, error) {
	works, err := r.works()
	if err != nil {
		return nil, err
	}
	return works.For(cluster), nil
}

// update returns the patch of a Work for a cluster.
func (r *Rendering) update(op Operation, adopt bool) ([]byte, error) {
	t, err := r.edited()
	if err != nil {
		return nil, err
	}
	return t.Patch(op.Cluster, op.Work.ResourceVersion, op.Work.Finalizers, adopt), nil
}

// newRendering renders at once.
func newRendering(t *render.Template, e render.Edit) (*Rendering, error) {
	edited, err := t.With(e)
	if err != nil {
		return nil, err
	}
	r := &Rendering{Template: t, edit: e, notes: edited.Notes(), digest: edited.Digest(), edited: func() (*render.Template, error) { return edited, nil }}
	r.works = sync.OnceValues(r.encode)
	return r, nil
}

// newRendered is the rendering of a Work that is as wanted.
func newRendered(t *render.Template, e render.Edit, w *state.Work) *Rendering {
	r := &Rendering{Template: t, edit: e, notes: e.Notes(), digest: w.Digest}
	r.notes.Rendered = w.Notes().Rendered
	r.edited = sync.OnceValues(func() (*render.Template, error) { return t.With(e) })
	r.works = sync.OnceValues(r.encode)
	return r
}

func (r *Rendering) encode() (render.Works, error) {
	t, err := r.edited()
	if err != nil {
		return render.Works{}, err
	}
	return t.Works(), nil
}

// renderings are those of one source: one for all clusters where its Works are the same.
type renderings struct {
	f    Facts
	made map[likeness]*Rendering
	// shares are what each cluster gets of the replicas; nil if they are not divided.
	shares map[string]render.Scale
	// policies are those that can be read, and selected is what they select the source by.
	policies []*override.Policy
	selected override.Object
}

// likeness is what Works that are the same have in common.
type likeness struct {
	options render.Options
	isLong  bool
	edit    render.EditKey
}

// render completes the decision that a Work is wanted on a cluster.
func (r *renderings) render(cluster string, wanted Target) (Target, *Refusal) {
	rendering, err := r.of(cluster)
	switch {
	case err != nil:
		return Target{Decision: Unknown, Because: string(OverrideFailed) + ": " + err.Error()}, &Refusal{Reason: OverrideFailed, Message: err.Error()}
	case rendering == nil:
		return Target{Decision: Unknown, Because: "its content has not been read yet"}, nil
	}
	if lost := r.lost(cluster, rendering); lost != nil {
		return Target{Decision: Unknown, AsksPolicies: true, Because: "by the cache, it is no longer overridden by " + strings.Join(lost, " and ") + ", but no live read has confirmed that yet"}, nil
	}
	wanted.Rendering = rendering
	return wanted, nil
}

// lost returns the policies that have changed the Work on a cluster and would no longer, by the
// cache alone. To lose an override is as bad as a deletion: the replicas that a policy has reduced
// come back, for example.
func (r *renderings) lost(cluster string, rendering *Rendering) []string {
	w := r.f.Works[cluster]
	if r.f.PoliciesLive || w == nil || w.Source != r.f.ID {
		return nil
	}
	return w.Notes().Lack(rendering.notes)
}

// of returns the rendering for a cluster; nil if the content of the source is not known. It fails
// if the content cannot be edited as the cluster needs it.
func (r *renderings) of(cluster string) (*Rendering, error) {
	s, facts := r.f.Source, r.f.Clusters[cluster]
	if s == nil || s.Template == nil {
		return nil, nil
	}
	edit, err := r.edit(cluster)
	if err != nil {
		return nil, fmt.Errorf("cluster %q: %w", cluster, err)
	}
	like := likeness{s.Options, r.f.isLong(cluster), edit.Key(s.Template.Manifest)}
	like.options.Suspend = like.options.Suspend || s.Differences.Suspended.Matches(cluster, facts.Labels)
	like.options.RetainReplicas = like.options.RetainReplicas || facts.ScaledBy != "" // the autoscaler sets the number of replicas
	if known := r.made[like]; known != nil {
		return known, nil
	}
	template := s.Template
	if like.options != s.Options {
		template = template.Manifest.Template(like.options)
	}
	if like.isLong {
		template = template.Long()
	}
	if w := r.f.Works[cluster]; w != nil && edit.Changes(template.Manifest) && template.IsRendered(edit, w.Notes(), w.Digest) {
		return newRendered(template, edit, w), nil // only this Work says so
	}
	made, err := newRendering(template, edit)
	if err != nil {
		return nil, fmt.Errorf("cluster %q: %w", cluster, err)
	}
	if r.made == nil {
		r.made = map[likeness]*Rendering{}
	}
	r.made[like] = made
	return made, nil
}

// edit returns what the Work of a cluster changes in the manifest.
func (r *renderings) edit(cluster string) (render.Edit, error) {
	e := render.Edit{Strip: r.f.Strip}
	if r.f.Source.Differences.Expand {
		e.Member = r.f.Clusters[cluster].Member
	}
	if r.f.Scale != nil {
		if r.f.Scale.Fault != "" {
			return e, errors.New(r.f.Scale.Fault)
		}
		if r.shares == nil {
			r.shares = sharesOf(r.f)
		}
		e.Share = &render.Share{Paths: r.f.Scale.Paths, Scale: r.shares[cluster]}
	}
	var err error
	e.Overrides, err = r.overrides(cluster)
	return e, err
}

// overrides returns what override policies change on a cluster.
func (r *renderings) overrides(cluster string) (o override.Overrides, err error) {
	member := r.f.Clusters[cluster].Member
	if len(r.f.Policies) == 0 || member == nil {
		return o, nil
	}
	if r.policies == nil {
		r.selected = r.f.Source.Template.Selected()
		for _, p := range r.f.Policies {
			if p.Fault != "" && p.Selects(r.selected) {
				return o, errors.New(p.Fault)
			}
			if p.Fault == "" {
				r.policies = append(r.policies, p.Override)
			}
		}
	}
	return override.For(r.policies, r.selected, member.Overridden()), nil
}
