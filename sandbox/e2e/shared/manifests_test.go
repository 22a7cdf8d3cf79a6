package shared

import (
	"testing"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestRights asks the API server what the ServiceAccount of the manifests may do.
func TestRights(t *testing.T) { WantRights(t) }
