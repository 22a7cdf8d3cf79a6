// Package apart holds the end-to-end tests that break their Karmada, or install karmada-mirror
// again, one after the other. The API servers encrypt as docs/how-to/secrets.md says.
package apart

import (
	"context"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

func TestMain(m *testing.M) {
	file, err := filepath.Abs(filepath.Join("testdata", "encryption.yaml"))
	if err != nil {
		panic(err)
	}
	encrypt := []string{"--encryption-provider-config=" + file}
	Main(m, Setup{
		Members: Members(Push, Pull),
		// The members store their objects in the same etcd.
		Flags: map[string][]string{karmada.APIServer: encrypt, karmada.MemberAPIServer(Push): encrypt, karmada.MemberAPIServer(Pull): encrypt},
	})
}

// install installs karmada-mirror with these resources of a configuration.
func install(t *testing.T, resources string) {
	t.Helper()
	Must(t, Env.Install(t.Context()))
	Must(t, Env.Configure(t.Context(), ConfigurationHead+"resources:\n"+resources))
}

// values are those of the ConfigMaps named page-… in a member.
func values(ctx context.Context, member, ns string) (map[string]string, error) {
	list, err := Env.Member(member).Resource(ConfigMaps).Namespace(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, u := range list.Items {
		if isPage, _ := filepath.Match("page-*", u.GetName()); isPage {
			all[u.GetName()], _, _ = unstructured.NestedString(u.Object, "data", "key")
		}
	}
	return all, nil
}

// supervised is a daemon that is started again when it has ended, as a Deployment would.
type supervised struct {
	*Daemon
	options DaemonOptions
	starts  int
}

// ensure starts the daemon if it is not running.
func (s *supervised) ensure(t *testing.T) {
	t.Helper()
	if s.Daemon == nil || s.HasEnded() {
		s.starts++
		s.Daemon = LaunchDaemon(t, s.options)
	}
}

// eventually waits, with the daemon running.
func (s *supervised) eventually(t *testing.T, what string, condition func(context.Context) error) {
	t.Helper()
	Eventually(t, what, func(ctx context.Context) error {
		s.ensure(t)
		return condition(ctx)
	})
}
