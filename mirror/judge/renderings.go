package judge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/render/override"
)

// renderings are those of one source: one for all clusters where its Works are the same.
type renderings struct {
	f    Facts
	made map[likeness]made
	// shares are what each cluster gets of the replicas, and extra what some keep beside that for now; nil until
	// someone asks.
	shares map[string]render.Scale
	extra  map[string]int64
	// policies are those that change the source on some cluster, or why that is not known; nil
	// until someone asks.
	policies *policies
}

// likeness is what Works that are the same have in common.
type likeness struct {
	options render.Options
	isLong  bool
	edit    render.EditKey
	// overriddenBy are the policies: different ones may change the same.
	overriddenBy string
}

// made is a Rendering, or why there is none.
type made struct {
	rendering *Rendering
	err       error
}

// policies are those that can be read, and what they select the source by.
type policies struct {
	readable []*override.Policy
	selected override.Object
	err      error
}

// render completes the decision that a Work is wanted on a cluster.
func (r *renderings) render(cluster string, wanted Target) (Target, *Refusal) {
	rendering, err := r.of(cluster)
	if err == nil && rendering != nil {
		err = r.unreadable(cluster, rendering)
	}
	switch {
	case err != nil:
		message := fmt.Sprintf("cluster %q: %s", cluster, err)
		return r.staying(cluster, Target{Decision: Unknown, Because: string(OverrideFailed) + ": " + message}), &Refusal{Reason: OverrideFailed, Message: message}
	case rendering == nil:
		return Target{Decision: Unknown, Because: "its content has not been read yet"}, nil
	}
	if lost := r.lost(cluster, rendering); lost != nil {
		return r.staying(cluster, Target{Decision: Unknown, Lost: lost, Because: "by the cache, it is no longer overridden by " + strings.Join(lost, " and ") + ", but no live read has confirmed that yet"}), nil
	}
	wanted.Rendering = rendering
	if wanted.Keeps = r.kept(cluster) > 0; wanted.Keeps && r.share(cluster).HasCompletions {
		return r.staying(cluster, Target{Decision: Unknown, Because: noteKeeps, Waits: true}), nil
	}
	return wanted, nil
}

// staying lets a wanted Work whose content stays as it is get what takes effect at once: its options, and that it is ours
// again.
func (r *renderings) staying(cluster string, t Target) Target {
	w, options := r.f.Works[cluster], r.optionsOn(cluster)
	if w == nil || w.Foreign == "" && hasOptions(w, options) {
		return t
	}
	template := r.f.Source.Template.Manifest.Template(options)
	if w.IsLong() {
		template = template.Long()
	}
	t.adjusts = true
	t.Rendering = &Rendering{Template: template, options: options, isIn: func(*state.Work) bool { return false }, edited: func() (*render.Template, error) { return template, nil }}
	return t
}

// hasOptions reports whether a Work whose content stays as it is preserves its object as it should, and is suspended if
// it should be. One that is suspended stays so: the member may never have got the content.
func hasOptions(w *state.Work, o render.Options) bool {
	return (!o.Suspend || w.State == state.WorkSuspended) && o.PreserveOnDeletion == w.Preserves()
}

// lost returns the policies that have changed the Work on a cluster and would no longer, by the
// cache alone. To lose an override is as bad as a deletion: the replicas that a policy has reduced
// come back, for example.
func (r *renderings) lost(cluster string, rendering *Rendering) []string {
	w := r.f.Works[cluster]
	if r.f.PoliciesLive && !r.f.NamespaceGoing || w == nil || w.Source != r.f.ID || w.Terminating {
		return nil
	}
	return w.Notes().Lack(rendering.notes)
}

// unreadable returns an error if a policy that has changed the Work on a cluster would no longer, but may only
// seem so because it cannot be read: what it selects may depend on labels that other policies add. Nor is it
// lost if it selects the source in another version: no one has changed the policy or the source.
func (r *renderings) unreadable(cluster string, rendering *Rendering) error {
	w := r.f.Works[cluster]
	if w == nil || w.Source != r.f.ID {
		return nil
	}
	lacking := w.Notes().Lack(rendering.notes)
	for _, p := range r.f.Policies {
		if p.Fault != "" && slices.Contains(lacking, p.Note()) {
			return errors.New(p.Fault)
		}
		if p.Fault != "" || !slices.Contains(lacking, p.Note()) {
			continue
		}
		if as := p.Override.SelectsAs(r.f.Source.Template.Selected()); as != "" {
			return fmt.Errorf("%s selects the object as %s, which is now read as %s: name both in its resourceSelectors", p.Note(), as, r.f.Source.Template.Selected().APIVersion)
		}
	}
	return nil
}

// of returns the rendering for a cluster; nil if the content of the source is not known. It fails
// if the content cannot be edited as the cluster needs it.
func (r *renderings) of(cluster string) (*Rendering, error) {
	s := r.f.Source
	if s == nil || s.Template == nil {
		return nil, nil
	}
	edit, err := r.edit(cluster)
	if err != nil {
		return nil, err
	}
	notes := edit.Notes()
	like := likeness{r.optionsOn(cluster), r.f.isLong(cluster), edit.Key(s.Template.Manifest), notes.OverriddenBy}
	if known, ok := r.made[like]; ok {
		return known.rendering, known.err
	}
	template := s.Template
	if like.options != s.Options {
		template = template.Manifest.Template(like.options)
	}
	if like.isLong {
		template = template.Long()
	}
	if w := r.f.Works[cluster]; w != nil && template.IsRendered(like.edit, w.Notes(), w.Digest) && (!edit.Noted || w.Notes().Written == "" || w.IsAsWritten()) {
		notes.Rendered, notes.Written = w.Notes().Rendered, w.Notes().Written
		return newRendered(template, edit, like.options, notes, w.Digest), nil // only this Work says so
	}
	var m made
	m.rendering, m.err = newRendering(template, edit, like.options)
	if r.made == nil {
		r.made = map[likeness]made{}
	}
	r.made[like] = m
	return m.rendering, m.err
}

// optionsOn returns the options of the Work on a cluster.
func (r *renderings) optionsOn(cluster string) render.Options {
	o, facts := r.f.Source.Options, r.f.Clusters[cluster]
	o.Suspend = o.Suspend || r.f.Source.Differences.Suspended.Matches(cluster, facts.Labels)
	o.RetainReplicas = o.RetainReplicas || facts.ScaledBy != render.Identity{} // the autoscaler sets the number of replicas
	return o
}

// errNoMember is for a user who may not read the Cluster.
var errNoMember = errors.New("nothing is known about the cluster, but what the object becomes depends on it")

// edit returns what the Work of a cluster changes in the manifest.
func (r *renderings) edit(cluster string) (render.Edit, error) {
	e, member := render.Edit{Strip: r.f.Strip, Noted: !r.f.Source.Waves.IsEmpty()}, r.f.Clusters[cluster].Member
	if r.f.Source.Differences.Expand {
		e.Member = member.Showing(r.f.Shown)
	}
	usesMember := r.f.Source.Differences.Expand && len(r.f.Source.Template.Variables()) > 0 || len(r.f.Policies) > 0
	if usesMember && member == nil {
		return e, errNoMember
	}
	if r.f.Scale != nil {
		if r.f.Scale.Fault != "" {
			return e, errors.New(r.f.Scale.Fault)
		}
		e.Share = &render.Share{Paths: r.f.Scale.Paths, Scale: r.shareNow(cluster)}
	}
	var err error
	e.Overrides, err = r.overrides(member)
	return e, err
}

// overrides returns what override policies change on a cluster.
func (r *renderings) overrides(member *render.Member) (o override.Overrides, err error) {
	if len(r.f.Policies) == 0 {
		return o, nil
	}
	if r.policies == nil {
		r.policies = policiesOf(r.f)
	}
	if r.policies.err != nil {
		return o, r.policies.err
	}
	return override.For(r.policies.readable, r.policies.selected, member.Overridden()), nil
}

func policiesOf(f Facts) *policies {
	p := &policies{selected: f.Source.Template.Selected()}
	for _, policy := range f.Policies {
		switch {
		case policy.Fault == "":
			p.readable = append(p.readable, policy.Override)
		case policy.Selects(p.selected) && (p.err == nil || policy.Fault < p.err.Error()):
			p.err = errors.New(policy.Fault)
		}
	}
	return p
}
