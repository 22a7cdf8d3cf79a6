package e2e

import (
	"context"
	"testing"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"
)

// seed makes the proxies' choices reproducible.
const seed = 1

// StartProxy starts a proxy between the daemons of a test and the API server.
func StartProxy(t *testing.T) *fault.Proxy {
	t.Helper()
	p, err := fault.Start(fault.Options{Kubeconfig: Kubeconfig(t), Dir: t.TempDir(), Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("cannot close the proxy: %v", err)
		}
	})
	return p
}

// WantSources waits until the Works of a namespace are as wanted.
func WantSources(t *testing.T, namespace string) {
	t.Helper()
	Eventually(t, "the Works", func(ctx context.Context) error { return Disagreement(ctx, namespace, ConfigMaps) })
}

// Workload changes sources in every way, so that Works are created, updated, retargeted
// and deleted. The row is nil if the workload belongs to none.
func Workload(t *testing.T, f *FaultRow, namespace string, ids []render.Identity) {
	t.Helper()
	for i, id := range ids {
		switch i % 4 {
		case 0:
			Change(t, ConfigMaps, namespace, id.Name, SetField("two", "data", "key"))
		case 1:
			f.Allow(id, Push, Pull)
			Change(t, ConfigMaps, namespace, id.Name, SetAnnotation(render.ClustersAnnotation, Push2))
		case 2:
			f.Allow(id, Push, Pull)
			Remove(t, ConfigMaps, namespace, id.Name)
		}
	}
}
