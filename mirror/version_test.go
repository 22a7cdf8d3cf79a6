package mirror

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

var widgetsV2 = schema.GroupVersionResource{Group: widgets.Group, Version: "v2", Resource: widgets.Resource}

// preferV2 makes the API server serve v2 of widgets and prefer it, beside v1 or instead of it, as it does when the
// CustomResourceDefinition says so.
func preferV2(s *apiServer, beside bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v1 := watch.Served{Resource: widgets, Kind: gadget.GroupKind(), Namespaced: true}
	s.served[widgets.GroupResource()] = []watch.Served{{Resource: widgetsV2, Kind: gadget.GroupKind(), Namespaced: true}}
	if beside {
		s.served[widgets.GroupResource()] = append(s.served[widgets.GroupResource()], v1)
	}
}

// inBothVersions has a widget in v1 and in v2.
func inBothVersions(s *apiServer) {
	inV2 := gadgetObject("m1")
	inV2.SetAPIVersion("example.io/v2")
	s.list(state.DefinitionsResource, definitionObject())
	s.list(widgets, gadgetObject("m1"))
	s.list(widgetsV2, inV2)
}

// TestPreferredVersionChanges: the API server prefers another version of a custom resource than the Works have, which
// may not be served in the members. While the Works' is served, nothing is rewritten, neither at once nor after a restart.
func TestPreferredVersionChanges(t *testing.T) {
	s := newAPIServer(t)
	inBothVersions(s)
	s.events = map[schema.GroupVersionResource]chan any{state.DefinitionsResource: make(chan any)}
	s.list(render.WorksResource, sample.Work(gadgetObject("m1"), "m1"))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	preferV2(s, true)
	changed := definitionObject()
	changed.SetResourceVersion("101")
	s.events[state.DefinitionsResource] <- map[string]any{"type": "MODIFIED", "object": changed}
	for what, c := range map[string]*Controller{"running": c, "restarted": newControllerOf(t, s, configured("", "", ""), newFakeClock())} {
		if _, err := c.sync(t.Context(), gadget); err != nil || len(s.writes) > 0 {
			t.Errorf("%s: %v, %q", what, err, s.writes)
		}
		if served, _ := c.caches.ServedAs(gadget.GroupKind()); served != widgets {
			t.Errorf("%s: watched as %v", what, served)
		}
	}
}

// TestVersionOfOthersWorks: which version is in force for a daemon that restarts follows neither from the Works of
// another daemon's namespaces, nor from those of another owner, nor from what one agent writes.
func TestVersionOfOthersWorks(t *testing.T) {
	for name, other := range map[string]struct{ namespace, cluster, label string }{
		"OtherDaemon": {"other", "m1", ""},
		"OtherOwner":  {"shop", "m1", "resourcebinding.karmada.io/permanent-id"},
		"OneAgent":    {"shop", "m2", ""}, // it invents sources
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			inBothVersions(s)
			works := []*unstructured.Unstructured{sample.Work(gadgetObject("m1"), "m1")}
			for _, source := range []string{"other1", "other2"} {
				u := gadgetObject(other.cluster)
				u.SetAPIVersion("example.io/v2")
				u.SetNamespace(other.namespace)
				u.SetName(source)
				w := sample.Work(u, other.cluster)
				if labels := w.GetLabels(); other.label != "" {
					labels[other.label] = "x"
					w.SetLabels(labels)
				}
				works = append(works, w)
			}
			s.list(render.WorksResource, works...)
			preferV2(s, true)
			slice := strings.Replace(configured("", "", ""), `"resource": "widgets"`, `"resource": "widgets", "namespaces": ["shop"]`, 1)
			c := newControllerOf(t, s, slice, newFakeClock())
			if served, _ := c.caches.ServedAs(gadget.GroupKind()); served != widgets {
				t.Errorf("watched as %v", served)
			}
			if _, err := c.sync(t.Context(), gadget); err != nil || len(s.writes) > 0 {
				t.Errorf("%v, %q", err, s.writes)
			}
		})
	}
}

// TestWorksAppearInAnotherVersion: the list of Works lacked one when the watch of its kind began, in the preferred version. It
// is not rewritten in that, and the watch begins again when the cache shows the Work.
func TestWorksAppearInAnotherVersion(t *testing.T) {
	s := newAPIServer(t)
	inBothVersions(s)
	s.events = map[schema.GroupVersionResource]chan any{render.WorksResource: make(chan any)}
	work := sample.Work(gadgetObject("m1"), "m1")
	work.SetResourceVersion("101")
	s.reply("POST /apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works", alreadyExists())
	s.reply(pathOf(render.WorksResource, work), work)
	preferV2(s, true)
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	if served, _ := c.caches.ServedAs(gadget.GroupKind()); served != widgetsV2 {
		t.Fatalf("watched as %v", served)
	}
	_, _ = c.sync(t.Context(), gadget) // its create runs into the Work
	if _, err := c.sync(t.Context(), gadget); !errors.Is(err, errOutvoted) {
		t.Errorf("the next sync: %v", err)
	}
	s.events[render.WorksResource] <- map[string]any{"type": "ADDED", "object": work}
	for served, _ := c.caches.ServedAs(gadget.GroupKind()); served != widgets || c.caches.Ready() != nil; served, _ = c.caches.ServedAs(gadget.GroupKind()) {
		time.Sleep(time.Millisecond)
	}
	if _, err := c.sync(t.Context(), gadget); err != nil || len(s.writes) != 1 {
		t.Errorf("%v, %q", err, s.writes)
	}
}

// TestPolicySelectsAnotherVersion: the version that a policy selects is no longer served. The policy is as it was, and
// its overrides are not undone.
func TestPolicySelectsAnotherVersion(t *testing.T) {
	policy := settingPolicy("a", "replicas")
	policy.Object["spec"].(map[string]any)["resourceSelectors"] = []any{map[string]any{"apiVersion": "example.io/v1", "kind": gadget.Kind}}
	s := honoring(t, policy)
	inBothVersions(s)
	s.list(render.WorksResource, overridden(t, gadgetObject("m1"), policy))
	s.reply(policiesAt, policyList("100", policy))
	preferV2(s, false)
	clock := newFakeClock()
	c := newControllerOf(t, s, strings.Replace(honor, `"version": "v1", `, "", 1), clock)
	c.DeletionSettle = policySettle
	planned(t, c, gadget)
	clock.Step(policySettle)
	if body, _ := planned(t, c, gadget); body != "" {
		t.Errorf("its override is undone: %s", body)
	}
	refusals := judge.Decide(c.caches.Facts(gadget)).Refusals
	if len(refusals) != 1 || refusals[0].Reason != judge.OverrideFailed || !strings.Contains(refusals[0].Message, "selects the object as example.io/v1") {
		t.Errorf("refused: %v", refusals)
	}
}
