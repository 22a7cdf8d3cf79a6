package machine

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, e2e.Setup{}) }
