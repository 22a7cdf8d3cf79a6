package gather

import (
	"testing"

	"go.uber.org/zap"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
)

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
