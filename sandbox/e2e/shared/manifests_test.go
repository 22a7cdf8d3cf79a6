package shared

import (
	"testing"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestRights checks what the ServiceAccount of the manifests may do.
func TestRights(t *testing.T) { WantRights(t) }
