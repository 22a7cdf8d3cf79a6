package shared

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// TestAdmission has users write annotations through a real API server with the admission
// policies of the manifests. No daemon watches these Namespaces.
func TestAdmission(t *testing.T) {
	t.Parallel()
	users := users{
		"some": tenant(t, "admission-some", "c1", "c2"), "all": tenant(t, "admission-all"), "many": tenant(t, "admission-many", manyClusters()...),
		"one": tenant(t, "admission-one", granted), "none": tenant(t, "admission-none", "nowhere"),
		// One may edit Namespaces, and mirror everywhere, but not what is in them; the other has that verb alone.
		"editor": account(t, "admission-editor", `
- {apiGroups: [""], resources: [configmaps, namespaces], verbs: [get, create, update]}
- {apiGroups: [cluster.karmada.io], resources: [clusters], verbs: [mirror]}`),
		"holder": account(t, "admission-holder", `
- {apiGroups: [""], resources: [configmaps, namespaces], verbs: [get, create, update, mirror]}`),
	}
	ns := admitted(t, nil, nil)
	t.Run("Parses", func(t *testing.T) { admissionParses(t, ns) })
	t.Run("Spelling", func(t *testing.T) { admissionSpells(t, ns) })
	t.Run("Authorizes", func(t *testing.T) {
		users.try(t, admissionCases())
		users.tryOtherPaths(t, ns)
	})
	t.Run("ReachNoMore", users.reachNoMore)
}

// admitted makes a Namespace that says something, which Karmada does not create in the members.
func admitted(t *testing.T, above, labelled annotations) string {
	t.Helper()
	return MakeNamespace(t, NewName(t, "admission"), labels.Merge(labelled, annotations{"namespace.karmada.io/skip-auto-propagation": "true"}), above)
}

// inForce waits until the policies are in force in a Namespace, and not only because they do
// not compile.
func inForce(t *testing.T, ns string) {
	t.Helper()
	Eventually(t, "the policy to be in force", func(context.Context) error {
		if err := dryRun(Env.Admin, ns, annotations{render.PreserveOnDeletionAnnotation: "perhaps"}); !apierrors.IsInvalid(err) {
			return fmt.Errorf("a mistake: %v", err)
		}
		return dryRun(Env.Admin, ns, annotations{render.ClustersAnnotation: "c1"})
	})
}

// dryRun creates a ConfigMap with annotations as a dry run.
func dryRun(as dynamic.Interface, ns string, said annotations) error {
	_, err := submit(as, ns, "page", nil, said, metav1.DryRunAll)
	return err
}

// submit creates a ConfigMap that says something, or lets a stored one say it.
func submit(as dynamic.Interface, ns, name string, stored *unstructured.Unstructured, said annotations, dryRun ...string) (*unstructured.Unstructured, error) {
	objects := as.Resource(ConfigMaps).Namespace(ns)
	if stored == nil {
		u := Plain(ns, name, "one")
		say(u, said)
		return objects.Create(context.Background(), u, metav1.CreateOptions{DryRun: dryRun})
	}
	u := stored.DeepCopy()
	say(u, said)
	return objects.Update(context.Background(), u, metav1.UpdateOptions{DryRun: dryRun})
}

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

// tenant is a user who may write ConfigMaps, Deployments and Namespaces, and mirror to these
// clusters; none means all.
func tenant(t *testing.T, name string, clusters ...string) dynamic.Interface {
	t.Helper()
	names := ""
	if clusters != nil {
		names = fmt.Sprintf("resourceNames: [%s]", strings.Join(clusters, ","))
	}
	return account(t, name, `
- {apiGroups: ["", apps], resources: [configmaps, namespaces, namespaces/status, deployments, deployments/status, deployments/scale], verbs: ["*"]}
- {apiGroups: [cluster.karmada.io], resources: [clusters], verbs: [mirror], `+names+`}`)
}

// users are the clients of users, by name.
type users map[string]dynamic.Interface

// try has users write, as dry runs.
func (us users) try(t *testing.T, cases map[string]admissionCase) {
	t.Helper()
	namespaces, names := map[string]string{}, slices.Sorted(maps.Keys(cases))
	where := func(c admissionCase) string { return fmt.Sprint(c.wasWrong, c.above) }
	for _, c := range cases {
		if namespaces[where(c)] == "" {
			labels := annotations{}
			if c.wasWrong {
				labels[Unguarded] = ""
			}
			namespaces[where(c)] = admitted(t, c.above, labels)
		}
	}
	befores := make([]*unstructured.Unstructured, len(names))
	workqueue.ParallelizeUntil(t.Context(), 8, len(names), func(i int) {
		var err error
		if c := cases[names[i]]; c.before != nil {
			befores[i], err = submit(Env.Admin, namespaces[where(c)], strings.ToLower(names[i]), nil, c.before)
		}
		if err != nil {
			t.Errorf("%s: the state before: %v", names[i], err)
		}
	})
	for key, ns := range namespaces {
		if strings.HasPrefix(key, "true") {
			guard(t, ns)
		}
	}
	workqueue.ParallelizeUntil(t.Context(), 8, len(names), func(i int) {
		c := cases[names[i]]
		_, err := submit(us[c.user], namespaces[where(c)], strings.ToLower(names[i]), befores[i], c.now, metav1.DryRunAll)
		if apierrors.IsForbidden(err) != c.forbidden || err != nil && (!c.forbidden || !strings.Contains(err.Error(), "verb mirror")) {
			t.Errorf("%s: %s: %v", names[i], c.reason, err)
		}
	})
}

// guard has the policies apply in a Namespace from now on.
func guard(t *testing.T, ns string) {
	t.Helper()
	Change(t, Namespaces, "", ns, func(u *unstructured.Unstructured) { u.SetLabels(nil) })
	inForce(t, ns)
}

// tryOtherPaths writes defaults of Namespaces, and through a subresource.
func (us users) tryOtherPaths(t *testing.T, ns string) {
	t.Helper()
	some, clusters, dry := us["some"], render.ClustersAnnotation, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}
	u, err := some.Resource(Namespaces).Get(t.Context(), ns, metav1.GetOptions{})
	Must(t, err)
	for list, forbidden := range map[string]bool{"c1": false, "c3": true} {
		u.SetAnnotations(annotations{clusters: list})
		if _, err = some.Resource(Namespaces).Update(t.Context(), u, dry); apierrors.IsForbidden(err) != forbidden || err != nil && !forbidden {
			t.Errorf("a default of %q: %v", list, err)
		}
	}
	u.SetAnnotations(annotations{clusters: strings.Join(manyClusters()[:24], ",")}) // as many as the policy can check
	if _, err = us["many"].Resource(Namespaces).Update(t.Context(), u, dry); err != nil {
		t.Errorf("a default of many clusters: %v", err)
	}
	u.SetAnnotations(annotations{clusters: ""})
	if _, err := Env.Admin.Resource(Namespaces).Update(t.Context(), u, dry); !apierrors.IsInvalid(err) {
		t.Errorf("an empty list on a Namespace is not refused: %v", err)
	}
	web := Asking(Create(t, Deployments, Deployment(ns, "web", "nginx:1", 1)), "c3")
	if _, err := some.Resource(Deployments).Namespace(ns).UpdateStatus(t.Context(), web, dry); !apierrors.IsForbidden(err) {
		t.Errorf("an annotation written through /status: %v", err)
	}
}

// admissionParses checks that the API server's policies parse values as the daemon does: some
// that are good or bad, and random ones.
func admissionParses(t *testing.T, ns string) {
	clusters, selector, replicas := render.ClustersAnnotation, render.ClusterSelectorAnnotation, render.ReplicasAnnotation
	type value struct {
		said   annotations
		isGood bool
		hint   string
	}
	var values []value
	for _, v := range parsedValues() {
		for isGood, texts := range map[bool][]string{true: v.good, false: v.bad} {
			for _, text := range texts {
				values = append(values, value{annotations{v.key: text}, isGood, v.hint})
			}
		}
	}
	for text, isGood := range map[string]bool{"!a": true, "b,!a": true, "!!a": false} {
		values = append(values, value{annotations{clusters: text, selector: "tier=edge"}, isGood, ""})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for key, tokens := range parsedTokens() {
		for range parsedAtRandom {
			text := ""
			for range 1 + random.IntN(8) {
				text += tokens[random.IntN(len(tokens))]
			}
			if key == clusters && strings.TrimSpace(text) == "" {
				continue // it opts out of nothing
			}
			values = append(values, value{annotations{key: text}, render.ReadWishes(annotations{key: text}).Check() == nil, ""})
		}
	}
	var good atomic.Int64
	workqueue.ParallelizeUntil(t.Context(), 8, len(values), func(i int) {
		v := values[i]
		if err := render.ReadWishes(v.said).Check(); (err == nil) != v.isGood {
			t.Errorf("%.200q: the daemon says %v", v.said, err)
		}
		err := dryRun(Env.Admin, ns, v.said)
		if (err == nil) != v.isGood {
			t.Errorf("%.200q: the API server says %v", v.said, err)
		}
		if err == nil {
			good.Add(1)
		} else if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "karmada.target/") || strings.Contains(err.Error(), "expression") || !strings.Contains(err.Error(), v.hint) {
			t.Errorf("%.200q is refused without saying what is allowed: %v", v.said, err)
		}
	})
	t.Logf("%d values, of which %d are good", len(values), good.Load())
	// The policy takes less than the daemon here, and says so.
	for key, text := range map[string]string{replicas: manyWeights(257), selector: "generation>1234567890123456789", clusters: "a" + strings.Repeat(" ", 16384)} {
		Must(t, render.ReadWishes(annotations{key: text}).Check())
		if err := dryRun(Env.Admin, ns, annotations{key: text}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "expression") {
			t.Errorf("%s %.40q: the API server says %v", key, text, err)
		}
	}
	for _, commas := range []int{200_000, 20_000} {
		if err := dryRun(Env.Admin, ns, annotations{clusters: strings.Repeat(",", commas)}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "longer than 16 KiB") {
			t.Errorf("%d commas: %v", commas, err)
		}
	}
	if err := dryRun(Env.Admin, ns, annotations{clusters: ""}); err != nil {
		t.Errorf("an object cannot opt out: %v", err)
	}
}

// admissionSpells has users write annotations that would have no effect: they are refused, with
// what was probably meant. The configuration's own rule says which kinds are never mirrored.
func admissionSpells(t *testing.T, ns string) {
	for key, meant := range map[string]string{
		"cluster": "did you mean karmada.target/clusters or karmada.target/cluster-selector?", "clusterSelector": "did you mean karmada.target/cluster-selector?",
		"Clusters": "did you mean karmada.target/clusters?", "suspended": "karmada.target/suspend?", "preserve": "karmada.target/preserve-on-deletion?",
		"replica": "karmada.target/replicas?", "conflict": "karmada.target/conflict-resolution?", "x": "it knows karmada.target/clusters, ", "approve-deletion": "did you mean karmada.target/deletion?",
		"source": "it knows", "selector": "karmada.target/cluster-selector?", "expanded": "did you mean karmada.target/expand?",
		"wave": "did you mean karmada.target/waves or karmada.target/wave-bake or karmada.target/wave-deadline?", "waveBake": "did you mean karmada.target/wave-bake?", "deadline": "did you mean karmada.target/wave-deadline?",
	} {
		err := dryRun(Env.Admin, ns, annotations{"karmada.target/" + key: Push})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "karmada.target/"+key+" is not an annotation of karmada-mirror") || !strings.Contains(err.Error(), meant) {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, a := range []annotations{{"karmada.target/approve-deletions": ""}, {"karmada.targets/cluster": "x"}, {"example.io/cluster": "x"}, nil} {
		if err := dryRun(Env.Admin, ns, a); err != nil {
			t.Errorf("%v: %v", a, err)
		}
	}
	labelled := Plain(ns, "labelled", "one")
	labelled.SetLabels(map[string]string{render.ClustersAnnotation: Push})
	if _, err := Env.Admin.Resource(ConfigMaps).Namespace(ns).Create(t.Context(), labelled, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "kubectl annotate") {
		t.Errorf("a label: %v", err)
	}
	rule := map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get"}}
	for gvr, u := range map[schema.GroupVersionResource]*unstructured.Unstructured{
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}:             Object("rbac.authorization.k8s.io/v1", "Role", ns, "page", map[string]any{"rules": []any{rule}}),
		{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}:             Object("discovery.k8s.io/v1", "EndpointSlice", ns, "page", map[string]any{"addressType": "IPv4", "endpoints": []any{}}),
		{Version: "v1", Resource: "endpoints"}:                                             Object("v1", "Endpoints", ns, "page", nil),
		{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "propagationpolicies"}: policyOf(render.Identity{Kind: "ConfigMap", Namespace: ns, Name: "page"}, Push),
		{Version: "v1", Resource: "services"}:                                              Object("v1", "Service", ns, "page", map[string]any{"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}}),
		Secrets:                                                                            Object("v1", "Secret", ns, "page", nil),
		{Version: "v1", Resource: "serviceaccounts"}:                                       Object("v1", "ServiceAccount", ns, "page", nil),
	} {
		_, never := config.Forbidden(gvr.GroupResource())
		_, err := Env.Admin.Resource(gvr).Namespace(ns).Create(t.Context(), Asking(u, Push), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if refused := err != nil && strings.Contains(err.Error(), "are never mirrored: remove the annotation "+render.ClustersAnnotation); refused != never {
			t.Errorf("%s: never mirrored %v, and the API server says %v", gvr.GroupResource(), never, err)
		}
	}
	// A mistake from before the policy was bound may stay, and not change.
	old := MakeNamespace(t, NewName(t, "admission"), annotations{Unguarded: ""}, nil)
	wrong := Plain(old, "old", "one")
	wrong.SetAnnotations(annotations{"karmada.target/cluster": "x"})
	Create(t, ConfigMaps, wrong)
	guard(t, old)
	Change(t, ConfigMaps, old, "old", SetField("two", "data", "key"))
	u, err := Env.Admin.Resource(ConfigMaps).Namespace(old).Get(t.Context(), "old", metav1.GetOptions{})
	Must(t, err)
	SetAnnotation("karmada.target/cluster", "y")(u)
	if _, err := Env.Admin.Resource(ConfigMaps).Namespace(old).Update(t.Context(), u, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a changed mistake is not refused: %v", err)
	}
}

// granted is the only cluster to which the user "one" may mirror.
const granted = "c1"

// fleet are the clusters of reachNoMore.
var fleet = map[string]*model.Object{
	granted: {Labels: map[string]string{"zone": "a"}},
	"c2":    {Labels: map[string]string{"zone": "a"}},
	"d1":    {Labels: map[string]string{"zone": "b"}},
	"x":     {}, // named nowhere, like a cluster that has just joined
}

// reachNoMore has users walk from one state of an object to another. If a step is allowed, then
// the user may mirror to every cluster where it adds the object, or changes how it is there or
// how it is deleted; so it is for walks through states in which the daemon keeps the Works as
// they are, and for defaults of Namespaces. The model says what the annotations mean.
func (us users) reachNoMore(t *testing.T) {
	aboves := []annotations{{}}
	random := rand.New(rand.NewPCG(3, 4))
	for range 11 {
		aboves = append(aboves, draw(random, spokenAbove(), nil))
	}
	namespaces := make([]string, len(aboves))
	for i, above := range aboves {
		namespaces[i] = admitted(t, above, annotations{Unguarded: ""}) // what it says may be a mistake
		guard(t, namespaces[i])
	}
	var tally admissionTally
	names := []string{"one", "one", "none", "all", "editor", "holder"}
	workqueue.ParallelizeUntil(t.Context(), 8, admissionWalks, func(i int) {
		random := rand.New(rand.NewPCG(5, uint64(i)))
		at := random.IntN(len(aboves))
		us.walk(t, &tally, random, namespaces[at], fmt.Sprint("page-", i), names[random.IntN(len(names))], aboves[at])
		now, user := draw(random, spokenAbove(), aboves[at]), names[random.IntN(len(names))]
		affects := map[string]bool{}
		for range 40 { // any object that may be in it
			own := draw(random, spoken(), nil)
			maps.Copy(affects, affected(placesOf(own, aboves[at]), placesOf(own, now)))
		}
		u, err := Env.Admin.Resource(Namespaces).Get(t.Context(), namespaces[at], metav1.GetOptions{})
		if err == nil {
			u.SetAnnotations(now)
			_, err = us[user].Resource(Namespaces).Update(t.Context(), u, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		}
		if user == "editor" {
			if changes := !maps.Equal(now, aboves[at]); changes == (err == nil) {
				t.Errorf("%s: Namespace %q to %q: %v", user, aboves[at], now, err)
			}
			return
		}
		tally.judge(t, user, err, affects, fmt.Sprintf("%s: Namespace %q to %q", user, aboves[at], now))
	})
	t.Logf("%d steps, of which %d were allowed and %d refused; %d of these would have reached nothing more", tally.tried.Load(), tally.allowed.Load(), tally.refused.Load(), tally.overcautious.Load())
	if tally.allowed.Load() < admissionWalks || tally.refused.Load() < admissionWalks/2 {
		t.Error("these are too few to prove anything")
	}
}

type admissionTally struct{ tried, allowed, refused, overcautious atomic.Int64 }

// walk has a user take some steps with one object, which an administrator may have created.
func (us users) walk(t *testing.T, tally *admissionTally, random *rand.Rand, ns, name, user string, above annotations) {
	var stored *unstructured.Unstructured // none yet: it counts as having its Namespace's defaults
	said, works := annotations{}, placesOf(annotations{}, above)
	// What an object asks for counts while a policy claims it.
	unclaimed := func(said annotations) annotations { return labels.Merge(said, annotations{claimLabel: ""}) }
	if first := draw(random, spoken(), nil); random.IntN(2) == 0 {
		if u, err := submit(Env.Admin, ns, name, nil, first); err == nil {
			stored, said, works = u, first, placesOf(unclaimed(first), above)
		}
	}
	for range 4 {
		now := draw(random, spoken(), said)
		there := placesOf(now, above)
		u, err := submit(us[user], ns, name, stored, now)
		step := fmt.Sprintf("%s: %q to %q in %q", user, said, now, above)
		tally.judge(t, user, err, affected(placesOf(unclaimed(said), above), there), step)
		if err != nil {
			continue
		}
		if !there.isKept() {
			tally.judge(t, user, nil, affected(works, there), "a walk that ends with "+step)
			works = there
		}
		stored, said = u, now
	}
}

// judge checks whether a step was rightly allowed or refused.
func (tally *admissionTally) judge(t *testing.T, user string, err error, clusters map[string]bool, step string) {
	tally.tried.Add(1)
	isEverywhere := user == "all" || user == "editor"
	isAllowed := isEverywhere || len(clusters) == 0 || user == "one" && len(clusters) == 1 && clusters[granted]
	switch {
	case err == nil && !isAllowed:
		t.Errorf("%s is allowed, but it affects %v", step, slices.Sorted(maps.Keys(clusters)))
	case err == nil:
		tally.allowed.Add(1)
	case apierrors.IsInvalid(err): // the annotations are invalid
	case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "verb mirror"):
		t.Errorf("%s is refused without saying what is missing: %v", step, err)
	case isEverywhere:
		t.Errorf("%s is refused, but the user may mirror everywhere: %v", step, err)
	default:
		tally.refused.Add(1)
		if isAllowed {
			tally.overcautious.Add(1)
		}
	}
}

// draw draws what an object or a Namespace says: often nearly what it said before.
func draw(random *rand.Rand, choices map[string][]string, before annotations) annotations {
	said := maps.Clone(before)
	changes := 1 + random.IntN(2)
	if said == nil {
		said, changes = annotations{}, 2+random.IntN(2)
	}
	keys := slices.Sorted(maps.Keys(choices))
	for i := range changes {
		key := keys[random.IntN(len(keys))]
		if i == 0 && random.IntN(2) == 0 {
			key = render.ClustersAnnotation
		}
		if values := choices[key]; random.IntN(4) > 0 {
			said[key] = values[random.IntN(len(values))]
		} else {
			delete(said, key)
		}
	}
	return said
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
		Clusters:   fleet, Configuration: &model.Configuration{Namespaces: []string{"*"}},
	}
	all := places{}
	for cluster := range fleet {
		state, copy := w.Of(page, cluster)
		if state == model.Present && said[retainLabel] == "true" {
			copy.Retains = true
		}
		all[cluster] = place{state, copy, labels.Merge(above, said)[render.ReplicasAnnotation]}
	}
	return all
}

// affected are the clusters where an object is added, or where how it is there or how it is
// deleted changes.
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
