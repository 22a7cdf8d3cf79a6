package e2e

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/sandbox/proxy"
)

// StartProxy starts a proxy between daemons and the API server.
func StartProxy(t *testing.T) *proxy.Proxy {
	t.Helper()
	p, err := proxy.Start(Env.AccountKubeconfig, t.TempDir())
	Must(t, err)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("cannot close the proxy: %v", err)
		}
	})
	return p
}
