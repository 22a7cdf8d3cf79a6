package shared

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/model"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// policyClusters are the clusters of TestPolicyLetsNobodyReachMore. One of the users may
// mirror only to granted.
var policyClusters = map[string]*model.Object{
	granted: {Labels: map[string]string{"zone": "a"}},
	"c2":    {Labels: map[string]string{"zone": "a"}},
	"d1":    {Labels: map[string]string{"zone": "b"}},
	"x":     {}, // named nowhere, like a cluster that has just joined
}

const granted = "c1"

// These labels of Karmada's say that a policy propagates an object, and that the members
// keep their replicas.
const (
	claimLabel  = "propagationpolicy.karmada.io/permanent-id"
	retainLabel = "resourcetemplate.karmada.io/retain-replicas"
)

// say lets an object say something: annotations, with Karmada's labels among them.
func say(u *unstructured.Unstructured, said annotations) {
	labels, rest := map[string]string{}, maps.Clone(said)
	for _, key := range []string{claimLabel, retainLabel} {
		if value, ok := said[key]; ok {
			labels[key] = value
			delete(rest, key)
		}
	}
	u.SetLabels(labels)
	u.SetAnnotations(rest)
}

// alphabet is what an object and its Namespace may say in one part of the test. The first
// Namespace says nothing.
type alphabet struct{ objects, namespaces []annotations }

// targetsAlphabet has lists of clusters and selectors; optionsAlphabet has one of the
// other annotations, with a few lists, a selector and a claim; suspendAlphabet and
// manifestAlphabet have more values, with fewer lists. By the model, waves add no cluster and change
// no object.
func targetsAlphabet() alphabet {
	clusters, selector := render.ClustersAnnotation, render.ClusterSelectorAnnotation
	return alphabet{
		objects: everyPair(clusters, []string{none, "", "c1", "c2", "c1,c2", "c1,!c2", "*", "*,!c2", "c?,!c*", "!c2"}, selector, []string{none, "zone=a", "zone=b"}),
		namespaces: append(everyPair(clusters, []string{none, "c2", "c1,!c2", "*,!c2"}, selector, []string{none, "zone=a"}),
			annotations{clusters: "*,!d*"}),
	}
}

func optionsAlphabet(key string, values ...string) alphabet {
	clusters := render.ClustersAnnotation
	values = append([]string{none}, values...)
	objects := everyPair(clusters, []string{none, "", "c1", "c2", "c1,c2", "*", "*,!c2", unreadable}, key, values)
	objects = append(objects, with(render.ClusterSelectorAnnotation, "zone=a", everyPair(clusters, []string{none, "", "c1,!c2"}, key, values))...)
	return alphabet{
		objects:    append(objects, with(claimLabel, "x", everyPair(clusters, []string{none, "c1"}, key, values))...),
		namespaces: everyPair(clusters, []string{none, "c2", "c1,!c2"}, key, values),
	}
}

// suspendAlphabet has suspended clusters, among them those of a glob.
func suspendAlphabet() alphabet {
	clusters, suspend, values := render.ClustersAnnotation, render.SuspendAnnotation, []string{none, "true", "c1", "*,!c1"}
	objects := everyPair(clusters, []string{none, "", "c1", "c1,c2", "*"}, suspend, values)
	objects = append(objects, annotations{clusters: unreadable, suspend: "true"}, annotations{clusters: "c1", suspend: strings.Repeat("c1,", render.MaxTerms+1)})
	objects = append(objects, with(render.ClusterSelectorAnnotation, "zone=a", everyPair(clusters, []string{"", "c1,!c2"}, suspend, values))...)
	return alphabet{
		objects:    append(objects, with(claimLabel, "x", everyPair(clusters, []string{"c1"}, suspend, append(values, "false")))...),
		namespaces: append(everyPair(clusters, []string{none, "c2"}, suspend, values), annotations{clusters: "c1,!c2", suspend: "*,!c1"}),
	}
}

// manifestAlphabet has the annotations that change the manifest, and Karmada's own label.
func manifestAlphabet() alphabet {
	clusters := render.ClustersAnnotation
	var all alphabet
	for _, option := range []annotations{{}, {render.ExpandAnnotation: "true"}, {render.ReplicasAnnotation: "retain"}, {render.ReplicasAnnotation: "c1=2,*=1"}} {
		for _, list := range []string{none, "", "c1", "c2", "c1,c2", "*"} {
			all.objects = append(all.objects, spoken(option, clusters, list))
		}
		all.objects = append(all.objects, with(render.ClusterSelectorAnnotation, "zone=a", []annotations{spoken(option, clusters, "c1,!c2")})...)
		all.objects = append(all.objects, with(claimLabel, "x", []annotations{spoken(option, clusters, "c1")})...)
		all.namespaces = append(all.namespaces, spoken(option, clusters, none), spoken(option, clusters, "c2"))
	}
	all.objects = append(all.objects, annotations{clusters: "c1", render.ReplicasAnnotation: manyWeights(300) + "c0=1"})
	all.objects = append(all.objects, with(retainLabel, "true", everyPair(clusters, []string{none, "", "c1", "c2"}, "", []string{none}))...)
	return all
}

// unreadable is a list with an empty term, which does not look like one: it is a no-break space.
const unreadable = "c1,\u00a0,c1"

// none stands for no annotation.
const none = "-"

func everyPair(key string, values []string, other string, otherValues []string) (all []annotations) {
	for _, v := range values {
		for _, w := range otherValues {
			all = append(all, spoken(annotations{key: v}, other, w))
		}
	}
	return all
}

// spoken adds an annotation to others, and skips those that are none.
func spoken(a annotations, key, value string) annotations {
	a = merged(a, annotations{key: value})
	maps.DeleteFunc(a, func(_, value string) bool { return value == none })
	return a
}

func with(key, value string, all []annotations) []annotations {
	for _, a := range all {
		a[key] = value
	}
	return all
}

// TestPolicyLetsNobodyReachMore tries steps, all of them if policyStride is 1, from one object
// to another in every Namespace, and from one Namespace to another, through the API
// server. If a step is allowed, then the user may mirror to every cluster where the step
// adds the object, or changes how it is there or how it is deleted. The same holds for a
// walk through states in which the daemon keeps the Works as they are. The model says what
// the annotations of an object mean.
func TestPolicyLetsNobodyReachMore(t *testing.T) {
	parts := map[string]alphabet{
		"Targets":  targetsAlphabet(),
		"Suspend":  suspendAlphabet(),
		"Preserve": optionsAlphabet(render.PreserveOnDeletionAnnotation, "true", "false"),
		"Conflict": optionsAlphabet(render.ConflictResolutionAnnotation, "abort", "overwrite"),
		"Manifest": manifestAlphabet(),
		"Waves":    optionsAlphabet(render.WavesAnnotation, "c1;*", "c2(1);x"),
	}
	enforce(t, Isolate(t))
	users := map[string]dynamic.Interface{
		"all": tenant(t, "property-of-all"), "one": tenant(t, "property-of-one", granted), "none": tenant(t, "property-of-none", "nowhere"),
	}
	var tally policyTally
	for name, a := range parts {
		t.Run(name, func(t *testing.T) {
			stride := min(policyStride, len(a.namespaces))
			for i, above := range a.namespaces {
				if i > 0 && i%stride != len(name)%stride {
					continue
				}
				s := newPolicySteps(t, users, a, above)
				s.trySteps(t, &tally)
				if i == 0 || policyStride == 1 {
					s.tryWalks(t, &tally, "one")
				}
				tryNamespaces(t, &tally, users, a, above)
			}
		})
	}
	t.Logf("%d steps and walks, of which %d were allowed; %d of the refused ones would have reached nothing more", tally.tried.Load(), tally.passed.Load(), tally.overcautious.Load())
	if tally.tried.Load() < 100_000/policyStride/policyStride || tally.passed.Load() < 40_000/policyStride/policyStride {
		t.Error("these are too few to prove anything")
	}
}

type policyTally struct{ tried, passed, overcautious atomic.Int64 }

// policySteps are the steps of an object from one state to another in one Namespace.
type policySteps struct {
	users  map[string]dynamic.Interface
	ns     string
	above  annotations
	states []policyState
}

// policyState is what an object may say.
type policyState struct {
	said annotations
	// stored says it; nil if the API server refuses that.
	stored *unstructured.Unstructured
	// places is how it then is; asked is how it would be without the claim of a policy.
	places, asked places
}

func newPolicyState(said, above annotations) policyState {
	unclaimed := maps.Clone(said)
	delete(unclaimed, claimLabel)
	return policyState{said: said, places: placesOf(said, above), asked: placesOf(unclaimed, above)}
}

func newPolicySteps(t *testing.T, users map[string]dynamic.Interface, a alphabet, above annotations) *policySteps {
	t.Helper()
	s := &policySteps{users: users, ns: newGuarded(t, above), above: above, states: []policyState{newPolicyState(annotations{}, above)}}
	for i, said := range a.objects {
		u := Plain(s.ns, fmt.Sprintf("page-%d", i), "one")
		say(u, said)
		state := newPolicyState(said, above)
		if stored, err := Env.Admin.Resource(ConfigMaps).Namespace(s.ns).Create(t.Context(), u, metav1.CreateOptions{}); err == nil {
			state.stored = stored
		}
		s.states = append(s.states, state)
	}
	return s
}

// creation is the state before an object is created: it counts as having its Namespace's
// defaults.
const creation = 0

// isPossible reports whether there is such a step.
func (s *policySteps) isPossible(from, to int) bool {
	return (from == creation || s.states[from].stored != nil) && to != creation && from != to
}

// try has a user take a step, as a dry run.
func (s *policySteps) try(ctx context.Context, user string, from, to int) error {
	objects := s.users[user].Resource(ConfigMaps).Namespace(s.ns)
	if from == creation {
		u := Plain(s.ns, "", "one")
		u.SetGenerateName("page-")
		say(u, s.states[to].said)
		_, err := objects.Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	u := s.states[from].stored.DeepCopy()
	say(u, s.states[to].said)
	_, err := objects.Update(ctx, u, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// trySteps tries single steps.
func (s *policySteps) trySteps(t *testing.T, tally *policyTally) {
	t.Helper()
	n := len(s.states)
	InParallel(t, n*n/policyStride, func(ctx context.Context, i int) error {
		i = i*policyStride + len(s.ns)%policyStride
		from, to := i/n, i%n
		if !s.isPossible(from, to) {
			return nil
		}
		before, now := s.states[from], s.states[to]
		for user := range s.users {
			err := s.try(ctx, user, from, to)
			tally.judge(t, user, err, affected(before.asked, now.places), fmt.Sprintf("%s: %q to %q in %q", user, before.said, now.said, s.above))
		}
		return nil
	})
}

// tryWalks tries walks of two and more steps, through states in which the daemon keeps the
// Works as they are.
func (s *policySteps) tryWalks(t *testing.T, tally *policyTally, user string) {
	t.Helper()
	answers := s.answers(t, user)
	for via, origins := range s.origins(answers) {
		for to, state := range s.states {
			err, tried := answers[[2]int{via, to}]
			if !tried || err != nil || state.places.isKept() {
				continue
			}
			for _, from := range origins {
				before := s.states[from]
				tally.judge(t, user, nil, affected(before.places, state.places), fmt.Sprintf("%s: %q to %q, and then to %q, in %q", user, before.said, s.states[via].said, state.said, s.above))
			}
		}
	}
}

// answers has a user try every step to and from states in which the Works are kept.
func (s *policySteps) answers(t *testing.T, user string) map[[2]int]error {
	t.Helper()
	var steps [][2]int
	for from := range s.states {
		for to := range s.states {
			isKept := s.states[from].places.isKept() || s.states[to].places.isKept()
			if isKept && s.isPossible(from, to) {
				steps = append(steps, [2]int{from, to})
			}
		}
	}
	errs := make([]error, len(steps))
	InParallel(t, len(steps), func(ctx context.Context, i int) error {
		errs[i] = s.try(ctx, user, steps[i][0], steps[i][1])
		return nil
	})
	answers := map[[2]int]error{}
	for i, step := range steps {
		answers[step] = errs[i]
	}
	return answers
}

// origins returns, for each state in which the Works are kept, the other states from which
// a walk may lead there.
func (s *policySteps) origins(answers map[[2]int]error) map[int][]int {
	origins := map[int][]int{}
	for again := true; again; {
		again = false
		for step, err := range answers {
			from, via := step[0], step[1]
			if err != nil || !s.states[via].places.isKept() {
				continue
			}
			reached := []int{from}
			if s.states[from].places.isKept() {
				reached = origins[from]
			}
			for _, origin := range reached {
				if !slices.Contains(origins[via], origin) {
					origins[via], again = append(origins[via], origin), true
				}
			}
		}
	}
	return origins
}

// tryNamespaces tries every step of a Namespace from one state.
func tryNamespaces(t *testing.T, tally *policyTally, users map[string]dynamic.Interface, a alphabet, before annotations) {
	t.Helper()
	name := newGuarded(t, before)
	InParallel(t, len(a.namespaces), func(ctx context.Context, i int) error {
		now := a.namespaces[i]
		clusters := map[string]bool{}
		for _, own := range a.objects { // any object that may be in it
			maps.Copy(clusters, affected(placesOf(own, before), placesOf(own, now)))
		}
		for user, client := range users {
			u, err := Env.Admin.Resource(Namespaces).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			u.SetAnnotations(now)
			_, err = client.Resource(Namespaces).Update(ctx, u, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			tally.judge(t, user, err, clusters, fmt.Sprintf("%s: Namespace %q to %q", user, before, now))
		}
		return nil
	})
}

// judge checks whether a step was rightly allowed or refused.
func (p *policyTally) judge(t *testing.T, user string, err error, clusters map[string]bool, step string) {
	p.tried.Add(1)
	isAllowed := user == "all" || len(clusters) == 0 || user == "one" && len(clusters) == 1 && clusters[granted]
	switch {
	case err == nil && !isAllowed:
		t.Errorf("%s is allowed, but it affects %v", step, slices.Sorted(maps.Keys(clusters)))
	case err == nil:
		p.passed.Add(1)
	case apierrors.IsInvalid(err): // the annotations are invalid
	case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "verb mirror"):
		t.Errorf("%s is refused without saying what is missing: %v", step, err)
	case user == "all":
		t.Errorf("%s is refused, but the user may mirror everywhere: %v", step, err)
	case isAllowed:
		p.overcautious.Add(1)
	}
}

// place is how an object is in a cluster. Its replicas are how they are divided: their number
// also changes with the clusters and with the object, which users may edit anyway.
type place struct {
	model.State
	model.Copy
	replicas string
}

// places are how it is in every cluster.
type places map[string]place

// isKept reports whether the daemon keeps Works as they are.
func (p places) isKept() bool {
	for _, there := range p {
		if there.State == model.Stays {
			return true
		}
	}
	return false
}

// placesOf is how an object with a variable is in every cluster by the model.
func placesOf(said, above annotations) places {
	page := model.Key{Kind: "ConfigMap", Namespace: "shop", Name: "page"}
	content := &model.Content{Payload: map[string]any{"data": map[string]any{"key": "$(cluster.name)"}}}
	w := &model.World{
		Objects:    map[model.Key]*model.Object{page: {Annotations: said, Labels: said, Content: content}},
		Namespaces: map[string]*model.Object{"shop": {Annotations: above}},
		Clusters:   policyClusters, Configuration: &model.Configuration{Namespaces: []string{"*"}},
	}
	all := places{}
	for cluster := range policyClusters {
		state, copy := w.Of(page, cluster)
		if state == model.Present && said[retainLabel] == "true" {
			copy.Retains = true
		}
		all[cluster] = place{state, copy, merged(above, said)[render.ReplicasAnnotation]}
	}
	return all
}

// affected are the clusters where an object is added, or where how it is there or how it
// is deleted changes.
func affected(before, now places) map[string]bool {
	clusters := map[string]bool{}
	for cluster, was := range before {
		is := now[cluster]
		isThere := was.State == model.Present || is.State == model.Present
		switch {
		case was.State != model.Present && is.State == model.Present,
			isThere && was.Preserved != is.Preserved && is.State != model.Stays,
			is.State == model.Present && (was.Suspended && !is.Suspended || !was.Overwrites && is.Overwrites || was.Retains != is.Retains),
			is.State == model.Present && (was.replicas != is.replicas || !reflect.DeepEqual(was.Content, is.Content)):
			clusters[cluster] = true
		}
	}
	return clusters
}
