package mirror

import (
	"errors"
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestRestoreIsNoticed: the revisions of etcd are behind those of some cache, which may be ahead of that of the Works.
func TestRestoreIsNoticed(t *testing.T) {
	type versions = map[schema.GroupVersionResource]string
	for what, test := range map[string]struct {
		cached, now versions
		notices     bool
	}{
		"Nothing":               {nil, versions{render.WorksResource: "104"}, false},
		"WorksAreAhead":         {versions{render.WorksResource: "105"}, versions{render.WorksResource: "104"}, true},
		"ConfigMapsAreAhead":    {versions{configMaps: "105"}, versions{render.WorksResource: "104", configMaps: "104"}, true},
		"NamespacesAreAhead":    {versions{state.NamespacesResource: "105"}, versions{render.WorksResource: "104"}, true},
		"ConfigMapsHaveAnEtcd":  {versions{configMaps: "105"}, versions{render.WorksResource: "104", configMaps: "105"}, false},
		"TheirEtcdIsRestored":   {versions{configMaps: "205"}, versions{render.WorksResource: "104", configMaps: "204"}, true},
		"AnAggregatedAPIHasOne": {versions{state.ClustersResource: "105"}, versions{render.WorksResource: "104", state.ClustersResource: "106"}, false},
	} {
		t.Run(what, func(t *testing.T) {
			s := newAPIServer(t)
			maps.Copy(s.versions, test.cached)
			c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
			s.mu.Lock()
			s.versions = test.now
			s.mu.Unlock()
			newest, err := c.newest(t.Context(), "")
			if errors.Is(err, errRestored) != test.notices || err == nil && newest != "104" {
				t.Errorf("%s, %v", newest, err)
			}
		})
	}
}
