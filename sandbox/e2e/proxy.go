package e2e

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/sandbox/fault"
)

// StartProxy starts a proxy between daemons and the API server.
func StartProxy(t *testing.T) *fault.Proxy {
	t.Helper()
	p, err := fault.Start(fault.Options{Kubeconfig: Env.AccountKubeconfig, Dir: t.TempDir(), Seed: 1})
	Must(t, err)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("cannot close the proxy: %v", err)
		}
	})
	return p
}
