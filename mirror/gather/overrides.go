package gather

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/watch"
)

// newPolicyWatch returns the watch of one kind of override policies.
func (c *Caches) newPolicyWatch(r watch.Resource) *watch.Watch {
	return c.newWatch(watch.Options{
		Resource:  r,
		Resolver:  c.options.Resolver,
		Transform: watch.Keep(state.NewPolicy),
		Indexers:  cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
		Handler:   watch.Handler{Changed: typed(c.options.Handlers.Policy), Synced: c.options.Handlers.Synced},
	})
}

// watchPolicies begins or ends to watch override policies.
func (c *Caches) watchPolicies(honored bool) {
	var resources []watch.Resource
	if honored {
		for _, r := range state.PolicyResources() {
			resources = append(resources, watch.In(r))
		}
	}
	c.policies.Apply(resources)
}

// honorsPolicies reports whether the configuration honors override policies.
func (c *Caches) honorsPolicies() bool {
	configuration := c.configuration.Load()
	return configuration != nil && configuration.HonorsPolicies()
}

// addPolicies adds the override policies that may select a source, if they are honored.
func addPolicies(f *judge.Facts, s store) {
	f.Policies, f.PoliciesLive = nil, true
	if configuration := s.inForce(); configuration == nil || !configuration.HonorsPolicies() || f.Source == nil {
		return
	}
	addSelecting(f, s.policiesIn(""))
	if f.ID.Namespace != "" {
		addSelecting(f, s.policiesIn(f.ID.Namespace))
	}
}

func (c *Caches) policiesIn(namespace string) iter.Seq[*state.Policy] {
	var policies []any
	for _, w := range c.policies.All() {
		policies = append(policies, w.ByIndex(cache.NamespaceIndex, namespace)...)
	}
	return each[state.Policy](policies)
}

// addSelecting adds those of some override policies that may select a source: only they get a sync when they change.
func addSelecting(f *judge.Facts, policies iter.Seq[*state.Policy]) {
	for p := range policies {
		if p.MaySelect(f.ID.Kind, f.ID.Namespace, f.ID.Name) {
			f.Policies = append(f.Policies, p)
		}
	}
}

// SelectedBy returns the objects that a policy may select and that may ask to be mirrored.
func (c *Caches) SelectedBy(p *state.Policy) iter.Seq[*state.Object] {
	return func(yield func(*state.Object) bool) {
		for _, w := range c.Sources() {
			objects := w.List
			if p.Namespace != "" {
				objects = func() []any { return w.ByIndex(cache.NamespaceIndex, p.Namespace) }
			}
			for o := range each[state.Object](objects()) {
				if p.MaySelect(o.ID.Kind, o.ID.Namespace, o.ID.Name) && c.MayAsk(o) && !yield(o) {
					return
				}
			}
		}
	}
}

// PoliciesAffectedBy returns the policies that change other objects on a cluster after it has changed.
func (c *Caches) PoliciesAffectedBy(before, after *state.Cluster) iter.Seq[*state.Policy] {
	return func(yield func(*state.Policy) bool) {
		for _, w := range c.policies.All() {
			for p := range each[state.Policy](w.List()) {
				if p.Distinguishes(before, after) && !yield(p) {
					return
				}
			}
		}
	}
}

// ConfirmLoss reads a source and the override policies live if the source has lost some, by the
// cache: a policy may be missing because it is about to be replaced, or was deleted together with
// the source, whose deletion the cache does not show yet. So it waits first, and returns how long
// is left. It waits for no less than a list may be old that was made for another source. The live list may
// show that more is lost; that has a time of its own.
func (c *Caches) ConfirmLoss(ctx context.Context, f judge.Facts, lost map[string][]string, settle time.Duration) (judge.Facts, time.Duration, error) {
	settle = max(settle, recentPeriod)
	if left := settle - c.options.Memory.Lost(f.ID, lost, false); left > 0 {
		return f, left, nil
	}
	f, err := c.LiveFacts(ctx, f.ID)
	if err != nil {
		return f, 0, err
	}
	var policies []*state.Policy
	for _, r := range state.PolicyResources() {
		namespace := f.ID.Namespace
		if r == state.ClusterPoliciesResource {
			namespace = ""
		} else if namespace == "" {
			continue
		}
		list, err := c.recent.list(ctx, r, namespace, c.policiesVersion(r))
		if err != nil {
			return f, 0, fmt.Errorf("cannot tell whether %q has lost an override: %w", f.ID, err)
		}
		for i := range list.Items {
			policies = append(policies, state.NewPolicy(&list.Items[i]))
		}
		gone, err := c.goneWithDefinition(ctx, r.GroupResource(), f, lost)
		if err != nil {
			return f, 0, err
		}
		if left := policiesGrace - c.options.Memory.Lost(f.ID, lost, false); gone && left > 0 {
			c.options.Failures.Warn("override policies have gone with their definition: keeping what they did until they come back, or for ten minutes",
				zap.Stringer("source", f.ID), zap.Duration("left", left))
			return f, left, nil
		}
	}
	f.Policies, f.PoliciesLive = nil, false
	addSelecting(&f, slices.Values(policies))
	more := without(judge.Decide(f).Lost(), lost)
	if left := settle - c.options.Memory.Lost(f.ID, more, true); left > 0 {
		return f, left, nil
	}
	f.PoliciesLive = true
	return f, 0, nil
}

// policiesGrace is how long the override policies that have gone with their definition may take to come back after it.
const policiesGrace = 10 * time.Minute

// goneWithDefinition reports whether override policies that some Works have may have gone with their definition: it is not older than
// policiesGrace, and younger than the source, or this process has known another one.
func (c *Caches) goneWithDefinition(ctx context.Context, r schema.GroupResource, f judge.Facts, lost map[string][]string) (bool, error) {
	obj, err := c.recent.get(ctx, c.customResources, r.String(), func(u *unstructured.Unstructured) kept { return state.NewDefinition(u) })
	switch {
	case ProvesAbsence(err, r.String()):
		return c.hasSeen(r), nil
	case err != nil:
		return false, fmt.Errorf("cannot tell whether %q has lost an override: cannot read the definition %q: %w", f.ID, r, err)
	}
	d := obj.(*state.Definition)
	first, seen := c.definitions.Load(d.Name)
	isAnother := seen && first != d.UID
	for cluster := range lost {
		w := f.Works[cluster]
		isAnother = isAnother || w != nil && w.SourceCreated().Before(d.Created)
	}
	return d.Terminating || isAnother && c.options.Clock.Since(d.Created) < policiesGrace, nil
}

// without returns what is lost besides what is known.
func without(lost, known map[string][]string) map[string][]string {
	more := map[string][]string{}
	for cluster, policies := range lost {
		more[cluster] = slices.DeleteFunc(slices.Clone(policies), func(policy string) bool { return slices.Contains(known[cluster], policy) })
	}
	return more
}

// policiesVersion is the resource version that the cache of a kind of override policies has reached; empty
// if it is not watched.
func (c *Caches) policiesVersion(r schema.GroupVersionResource) string {
	for _, w := range c.policies.All() {
		if w.Resource.GroupResource == r.GroupResource() {
			return w.Status().ResourceVersion
		}
	}
	return ""
}

func policiesOf(objects []*unstructured.Unstructured) []*state.Policy {
	policies := make([]*state.Policy, 0, len(objects))
	for _, obj := range objects {
		policies = append(policies, state.NewPolicy(obj))
	}
	return policies
}

// policiesIn lists override policies once. To a user who may not read them, they are one policy that cannot be read.
func (r *reading) policiesIn(namespace string) iter.Seq[*state.Policy] {
	if known, ok := r.policies[namespace]; ok || r.err != nil {
		return slices.Values(known)
	}
	resource, kind, what := state.PoliciesResource, state.PolicyKind, "the OverridePolicies in namespace "+namespace
	if namespace == "" {
		resource, kind, what = state.ClusterPoliciesResource, state.ClusterPolicyKind, "the ClusterOverridePolicies"
	}
	list, err := r.client.Resource(resource).Namespace(namespace).List(r.ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		r.Hide(what)
		r.policies[namespace] = []*state.Policy{{Meta: state.Meta{Namespace: namespace}, Fault: "you may not read " + what}}
	case err != nil:
		r.fail(fmt.Errorf("cannot list %s: %w", what, err))
	default:
		r.policies[namespace] = policiesOf(r.withAssumed(list, kind, namespace))
	}
	return slices.Values(r.policies[namespace])
}
