// Package disruptive holds the end-to-end tests that need the whole of a Karmada, one after
// the other.
package disruptive

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, e2e.Push, e2e.Push2, e2e.Pull) }
