package shared

import (
	"context"
	"fmt"
	"maps"
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

// alphabet is what an object and its Namespace may say in one part of the test.
type alphabet struct{ objects, namespaces []annotations }

// targetsAlphabet has lists of clusters and selectors; optionsAlphabet has one of the
// other annotations, with a few lists.
func targetsAlphabet() alphabet {
	clusters, selector := render.ClustersAnnotation, render.ClusterSelectorAnnotation
	return alphabet{
		objects: everyPair(clusters, []string{none, "", "c1", "c2", "c1,c2", "c1,!c2", "*", "*,!c2", "c?,!c*", "!c2"}, selector, []string{none, "zone=a", "zone=b"}),
		namespaces: append(everyPair(clusters, []string{none, "c2", "c1,!c2", "*,!c2"}, selector, []string{none, "zone=a"}),
			annotations{clusters: "*,!d*"}),
	}
}

func optionsAlphabet(key string, values ...string) alphabet {
	values = append(values, none)
	return alphabet{
		objects:    everyPair(render.ClustersAnnotation, []string{none, "c1", "c2", "c1,c2"}, key, values),
		namespaces: everyPair(render.ClustersAnnotation, []string{none, "c1", "c2"}, key, values),
	}
}

// none stands for no annotation.
const none = "-"

func everyPair(key string, values []string, other string, otherValues []string) (all []annotations) {
	for _, v := range values {
		for _, w := range otherValues {
			a := annotations{key: v, other: w}
			maps.DeleteFunc(a, func(_, value string) bool { return value == none })
			all = append(all, a)
		}
	}
	return all
}

// TestPolicyLetsNobodyReachMore tries every step (in make test every few) from one object
// to another in every Namespace, and from one Namespace to another, through the API
// server. If a step is allowed, then the user may mirror to every cluster where the step
// adds the object, or changes how it is there or how it is deleted. The model says what
// the annotations of an object mean.
func TestPolicyLetsNobodyReachMore(t *testing.T) {
	parts := map[string]alphabet{
		"Targets":  targetsAlphabet(),
		"Suspend":  optionsAlphabet(render.SuspendAnnotation, "true", "false"),
		"Preserve": optionsAlphabet(render.PreserveOnDeletionAnnotation, "true", "false"),
		"Conflict": optionsAlphabet(render.ConflictResolutionAnnotation, "abort", "overwrite"),
		"Replicas": optionsAlphabet(render.ReplicasAnnotation, "retain"),
	}
	enforce(t, Isolate(t))
	users := map[string]dynamic.Interface{
		"all": tenant(t, "property-of-all"), "one": tenant(t, "property-of-one", granted), "none": tenant(t, "property-of-none", "nowhere"),
	}
	var tally policyTally
	for name, a := range parts {
		t.Run(name, func(t *testing.T) {
			for i, above := range a.namespaces {
				if i%policyStride != len(name)%policyStride {
					continue
				}
				tryObjects(t, &tally, users, a, above)
				tryNamespaces(t, &tally, users, a, above)
			}
		})
	}
	t.Logf("%d steps, of which %d were allowed; %d of the refused ones would have reached nothing more", tally.tried.Load(), tally.passed.Load(), tally.overcautious.Load())
	if tally.tried.Load() < 30_000/policyStride/policyStride || tally.passed.Load() < 15_000/policyStride/policyStride {
		t.Error("these are too few to prove anything")
	}
}

type policyTally struct{ tried, passed, overcautious atomic.Int64 }

// tryObjects tries every step of an object in one Namespace.
func tryObjects(t *testing.T, tally *policyTally, users map[string]dynamic.Interface, a alphabet, above annotations) {
	t.Helper()
	ns := NewNamespace(t)
	Change(t, Namespaces, "", ns, func(u *unstructured.Unstructured) {
		u.SetLabels(enforced(t))
		u.SetAnnotations(above)
	})
	Eventually(t, "the policy to see the Namespace", func(ctx context.Context) error {
		if err := dryRun(ctx, users["none"], ns, annotations{render.ClustersAnnotation: "d1"}); !apierrors.IsForbidden(err) {
			return fmt.Errorf("the request is not refused: %v", err)
		}
		return nil
	})
	stored := []*unstructured.Unstructured{nil} // for creations
	for i, own := range a.objects {
		u := Plain(ns, fmt.Sprintf("page-%d", i), "one")
		u.SetAnnotations(own)
		created, err := Env.Admin.Resource(ConfigMaps).Namespace(ns).Create(t.Context(), u, metav1.CreateOptions{})
		if err == nil { // an invalid object is refused for every user
			stored = append(stored, created)
		}
	}
	steps := len(stored) * len(a.objects)
	InParallel(t, steps/policyStride, func(ctx context.Context, i int) error {
		i = i*policyStride + len(ns)%policyStride
		before, now := stored[i/len(a.objects)], a.objects[i%len(a.objects)]
		for user, client := range users {
			var err error
			was := annotations{} // defaults of every object in the Namespace
			if before == nil {
				err = dryRun(ctx, client, ns, now)
			} else {
				u := before.DeepCopy()
				was = u.GetAnnotations()
				u.SetAnnotations(now)
				_, err = client.Resource(ConfigMaps).Namespace(ns).Update(ctx, u, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			}
			tally.judge(t, user, err, affected(was, above, now, above), fmt.Sprintf("%s: %q to %q in %q", user, was, now, above))
		}
		return nil
	})
}

// tryNamespaces tries every step of a Namespace from one state.
func tryNamespaces(t *testing.T, tally *policyTally, users map[string]dynamic.Interface, a alphabet, before annotations) {
	t.Helper()
	u := Object("v1", "Namespace", "", NewNamespace(t), nil)
	Change(t, Namespaces, "", u.GetName(), func(u *unstructured.Unstructured) {
		u.SetLabels(enforced(t))
		u.SetAnnotations(before)
	})
	InParallel(t, len(a.namespaces), func(ctx context.Context, i int) error {
		now := a.namespaces[i]
		clusters := map[string]bool{}
		for _, own := range a.objects { // any object that may be in it
			maps.Copy(clusters, affected(own, before, own, now))
		}
		for user, client := range users {
			u, err := Env.Admin.Resource(Namespaces).Get(ctx, u.GetName(), metav1.GetOptions{})
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

// affected are the clusters where an object is added, or where how it is there or how it
// is deleted changes.
func affected(was, above, now, aboveNow annotations) map[string]bool {
	clusters := map[string]bool{}
	for cluster := range policyClusters {
		before, old := meaning(was, above, cluster)
		after, like := meaning(now, aboveNow, cluster)
		isThere := before == model.Present || after == model.Present
		switch {
		case before != model.Present && after == model.Present,
			isThere && old.Preserved != like.Preserved && after != model.Stays,
			after == model.Present && (old.Suspended && !like.Suspended || !old.Overwrites && like.Overwrites || old.Retains != like.Retains):
			clusters[cluster] = true
		}
	}
	return clusters
}

// meaning is the state of an object in a cluster by the model.
func meaning(own, above annotations, cluster string) (model.State, model.Copy) {
	page := model.Key{Kind: "ConfigMap", Namespace: "shop", Name: "page"}
	w := &model.World{
		Objects:    map[model.Key]*model.Object{page: {Annotations: own}},
		Namespaces: map[string]*model.Object{"shop": {Annotations: above}},
		Clusters:   policyClusters, Configuration: &model.Configuration{Namespaces: []string{"*"}},
	}
	return w.Of(page, cluster)
}
