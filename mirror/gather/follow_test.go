package gather

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// leaders is a store of ConfigMaps, by name, that counts how often one is looked up.
type leaders struct {
	store
	objects map[string]*state.Object
	lookups int
}

func (s *leaders) kindOf(string) (schema.GroupKind, error) {
	return schema.GroupKind{Kind: "ConfigMap"}, nil
}
func (s *leaders) worksOf(render.Identity) []*state.Work { return nil }
func (s *leaders) leader(id render.Identity) (o *state.Object, unknown string) {
	s.lookups++
	return s.objects[id.Name], ""
}

// TestFollowIsBounded: whatever objects name, few of them are looked at.
func TestFollowIsBounded(t *testing.T) {
	for name, list := range map[string]string{"Repeated": strings.Repeat("configmap/NEXT1,", 16), "Crossed": "configmap/NEXT1,configmap/NEXT2,configmap/NEXT3,configmap/NEXT4,configmap/NEXT5,configmap/NEXT6,configmap/NEXT7"} {
		s := &leaders{objects: map[string]*state.Object{}}
		for depth, prefix := range []string{"a", "b", "c", "d", "e"} {
			for i := range 8 {
				u := named("v1", "ConfigMap", "shop", prefix+string(rune('0'+i)))
				u.SetAnnotations(map[string]string{render.FollowsAnnotation: strings.ReplaceAll(list, "NEXT", string(rune('b'+depth)))})
				s.objects[u.GetName()] = state.NewWholeObject(u)
			}
		}
		source := sourceOf(s.objects["a0"], &state.Namespace{}, s)
		if s.lookups > maxVisits || source.Doubt == "" {
			t.Errorf("%s: %d lookups, and the doubt %q", name, s.lookups, source.Doubt)
		}
	}
}

// TestKindNamed: a type without a group means only Kubernetes' own kinds, whatever else is configured.
func TestKindNamed(t *testing.T) {
	kinds := map[schema.GroupResource]schema.GroupKind{
		{Resource: "services"}: {Kind: "Service"}, {Group: "serving.knative.dev", Resource: "services"}: {Group: "serving.knative.dev", Kind: "Service"},
		{Group: "apps", Resource: "deployments"}: {Group: "apps", Kind: "Deployment"}, {Group: "networking.k8s.io", Resource: "ingresses"}: {Group: "networking.k8s.io", Kind: "Ingress"},
		{Group: "a.k8s.io", Resource: "events"}: {Group: "a.k8s.io", Kind: "Event"}, {Group: "b.k8s.io", Resource: "events"}: {Group: "b.k8s.io", Kind: "Event"},
	}
	for name, want := range map[string]string{
		"service": "Service", "services": "Service", "service.serving.knative.dev": "Service.serving.knative.dev", "services.serving.knative.dev": "Service.serving.knative.dev",
		"deployment": "Deployment.apps", "deployments.apps": "Deployment.apps", "ingress": "Ingress.networking.k8s.io", "event": "", "pod": "", "svc": "",
	} {
		kind, err := kindNamed(name, func(yield func(schema.GroupResource, schema.GroupKind) bool) {
			for resource, kind := range kinds {
				if !yield(resource, kind) {
					return
				}
			}
		})
		if kind.String() != want && err == nil || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v", name, kind, err)
		}
	}
}
