package shared

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/config"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
)

// installation is a second installation of karmada-mirror beside the shared one, with the same
// ServiceAccount, but a Namespace, a ConfigMap and a Lease of its own.
type installation struct {
	ns    string
	flags []string
}

func newInstallation(t *testing.T) installation {
	t.Helper()
	ns := MakeNamespace(t, NewName(t, "own"), nil, nil)
	ctx, rbac := t.Context(), Env.Client.RbacV1()
	role, err := rbac.Roles(System).Get(ctx, Account, metav1.GetOptions{})
	Must(t, err)
	_, roleErr := rbac.Roles(ns).Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: Account}, Rules: role.Rules}, metav1.CreateOptions{})
	_, bindingErr := rbac.RoleBindings(ns).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: Account}, Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: System, Name: Account}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: Account},
	}, metav1.CreateOptions{})
	Must(t, roleErr, bindingErr)
	own := installation{ns, []string{"--config-map", ns + "/" + Account, "--leader-elect-resource-namespace", ns,
		"--leader-elect-lease-duration", "30s", "--leader-elect-renew-deadline", "25s"}}
	Create(t, ConfigMaps, Object("v1", "ConfigMap", ns, Account, map[string]any{"data": map[string]any{config.Key: own.configuration("")}}))
	return own
}

// configuration watches the installation's Namespace, and says more.
func (i installation) configuration(more string) string {
	return ConfigurationHead + "resources:\n- {resource: configmaps, namespaces: [" + i.ns + "]}\n" + more
}

// mirrors waits until an object's new value has reached both members.
func (i installation) mirrors(t *testing.T, value string) {
	t.Helper()
	name := strings.ReplaceAll(strings.ToLower(value), " ", "-")
	Create(t, ConfigMaps, ConfigMap(i.ns, name, Both, value))
	WantInMembers(t, i.ns, name, value, Push, Pull)
}

// TestReplicas ends the process that leads as a power cut, a Deployment and a network would: the
// other replica takes over, and a process ends in time and well, whatever the API server does.
func TestReplicas(t *testing.T) {
	t.Parallel()
	own, p := newInstallation(t), StartProxy(t)
	first := StartDaemon(t, DaemonOptions{Flags: own.flags})
	Eventually(t, "the first to lead", Leads(first))
	second := StartDaemon(t, DaemonOptions{Flags: own.flags})
	own.mirrors(t, "at first")
	if second.Logged("leading") > 0 || second.Logged("wrote a Work") > 0 {
		t.Fatal("the standby has written")
	}
	Must(t, first.KillNow())
	own.mirrors(t, "after a kill")

	// The program of a release: the other looks for leaks when it has ended.
	third := StartDaemon(t, DaemonOptions{Program: []string{Env.Program}, Kubeconfig: p.Kubeconfig, Flags: own.flags})
	begun := time.Now()
	second.Terminate(t)
	Eventually(t, "the standby to lead", Leads(third))
	t.Logf("after SIGTERM of the leader, the other leads within %s", time.Since(begun).Round(time.Millisecond))
	if <-second.Ended(); second.Err() != nil {
		t.Errorf("the leader ended badly: %v", second.Err())
	}
	own.mirrors(t, "after SIGTERM")

	// The grace period of its Pod is 30 s.
	write := fault.Match{Verb: "create", Resource: Works.Resource}
	p.Faults.Inject(write, fault.Drop())
	Create(t, ConfigMaps, ConfigMap(own.ns, "stuck", Both, "one"))
	Eventually(t, "a write in flight", func(context.Context) error {
		if p.Faults.InFlight(write) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	p.Freeze()
	defer p.Thaw()
	third.Terminate(t)
	select {
	case <-third.Ended():
		if third.Err() != nil {
			t.Errorf("it ended badly: %v\n%s", third.Err(), third.Log())
		}
	case <-time.After(29 * time.Second):
		t.Error("it has not ended within 29 s of SIGTERM, while the API server stalls")
	}
}
