package gather

import (
	"testing"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestGuessResource: a mark on a Work says what a name does not, and steers nothing else.
func TestGuessResource(t *testing.T) {
	gateway, marked := schema.GroupKind{Group: "example.org", Kind: "Gateway"}, &state.Work{Source: render.Identity{Group: "example.org", Kind: "Gateway"}, Held: &render.Hold{Resource: "gateways.example.org"}}
	for configured, want := range map[string]string{"gateways.example.org": "gateways.example.org", "gatewaies.example.org": "gatewaies.example.org"} {
		got := guessResource(gateway, []*state.Work{{}, marked}, func(r schema.GroupResource) bool { return r.String() == configured })
		if got.String() != want {
			t.Errorf("%s is configured: %s", configured, got)
		}
	}
}

// TestByOneConfiguration: facts are never of two configurations.
func TestByOneConfiguration(t *testing.T) {
	c := NewCaches(Options{Logger: zap.NewNop()})
	times := 0
	f, err := c.byOneConfiguration(func() (judge.Facts, error) {
		if times++; times < 3 {
			c.Configure(&config.Configuration{})
		}
		return judge.Facts{Live: times == 3}, nil
	})
	if err != nil || times != 3 || !f.Live {
		t.Errorf("it gathered %d times, and returned %v, %v", times, f, err)
	}
}
