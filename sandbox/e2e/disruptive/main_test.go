// Package disruptive holds the end-to-end tests that need a whole Karmada to themselves,
// one after the other.
package disruptive

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, e2e.Push, e2e.Push2, e2e.Pull) }
