// Package apart holds the end-to-end tests that each start a Karmada of their own.
package apart

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }
