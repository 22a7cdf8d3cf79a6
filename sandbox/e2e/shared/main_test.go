// Package shared holds the end-to-end tests that run in parallel on one Karmada.
package shared

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, e2e.Push, e2e.Push2, e2e.Pull, leaver, returner) }
