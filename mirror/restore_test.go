package mirror

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestRestoreIsNoticed: the revisions of etcd are behind those of some cache, which may be ahead of that of the Works.
func TestRestoreIsNoticed(t *testing.T) {
	own, other := map[string]any{}, map[string]any{"service": map[string]any{"name": "an-api-server"}}
	for what, test := range map[string]struct {
		versions map[schema.GroupVersionResource]string // that the caches have reached
		group    map[string]any                         // how the API of the Widgets is served
		notices  bool
	}{
		"Nothing":                    {nil, own, false},
		"WorksAreAhead":              {map[schema.GroupVersionResource]string{render.WorksResource: "105"}, own, true},
		"ConfigMapsAreAhead":         {map[schema.GroupVersionResource]string{configMaps: "105"}, own, true},
		"CustomResourcesAreAhead":    {map[schema.GroupVersionResource]string{widgets: "105"}, own, true},
		"NamespacesAreAhead":         {map[schema.GroupVersionResource]string{state.NamespacesResource: "105"}, own, true},
		"AggregatedAPIHasItsOwnEtcd": {map[schema.GroupVersionResource]string{widgets: "105"}, other, false},
	} {
		t.Run(what, func(t *testing.T) {
			s := newAPIServer(t)
			s.list(state.APIServicesResource, apiService("v1.", own), apiService("v1.example.io", test.group))
			s.versions = test.versions
			c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
			s.mu.Lock()
			s.versions = map[schema.GroupVersionResource]string{render.WorksResource: "104"}
			s.mu.Unlock()
			newest, err := c.newest(t.Context(), "")
			if errors.Is(err, errRestored) != test.notices || err == nil && newest != "104" {
				t.Errorf("%s, %v", newest, err)
			}
		})
	}
}

func apiService(name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(state.APIServicesResource.GroupVersion().WithKind("APIService"))
	u.SetName(name)
	return u
}
