package parity

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// TestModelDivides compares the naive division of the reference model, by which the end-to-end
// tests judge the daemon, with Karmada's own by static weights.
func TestModelDivides(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	web := model.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}
	for range 3000 {
		w := &model.World{Clusters: map[string]*model.Object{}, Configuration: &model.Configuration{Namespaces: []string{"*"}}}
		var terms []string
		weights := map[string]int64{}
		for i := range 1 + random.IntN(6) {
			name, weight := fmt.Sprintf("m%d", i), int64(random.IntN(7))
			if random.IntN(20) == 0 {
				weight = random.Int64N(1_000_001)
			}
			w.Clusters[name] = &model.Object{}
			terms = append(terms, fmt.Sprintf("%s=%d", name, weight))
			if weight > 0 {
				weights[name] = weight
			}
		}
		replicas, uid := int64(random.IntN(60)), fmt.Sprintf("uid-%d", random.IntN(100))
		w.Objects = map[model.Key]*model.Object{web: {
			UID: uid, Annotations: map[string]string{"karmada.target/clusters": "*", "karmada.target/replicas": strings.Join(terms, ",")},
			Content: &model.Content{Payload: map[string]any{"spec": map[string]any{"replicas": replicas}}},
		}}
		want := dispense(int32(replicas), []workv1alpha2.TargetCluster{}, weights, types.UID(uid))
		for name := range w.Clusters {
			_, like := w.Of(web, name)
			if got := like.Content.Payload["spec"].(map[string]any)["replicas"]; got != want[name] {
				t.Fatalf("%d replicas over %q, of %s: the model gives %s %v, Karmada %v", replicas, terms, uid, name, got, want)
			}
		}
	}
}
