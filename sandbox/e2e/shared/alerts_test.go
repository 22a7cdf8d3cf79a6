package shared

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karmada-target/karmada-mirror/sandbox/fault"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// These tests make a fault on a real Karmada, and evaluate the alerts of the manifests on
// the series that the daemons expose meanwhile: one alert fires, and no other does.

func of(daemons ...*Daemon) map[string][]*Daemon {
	return map[string][]*Daemon{"karmada-mirror": daemons}
}

// pair starts two replicas, of which the first leads.
func pair(t *testing.T, flags ...string) (leader, standby *Daemon) {
	t.Helper()
	leader = StartDaemon(t, flags...)
	Eventually(t, "the first to lead", Leads(leader))
	return leader, StartDaemon(t, flags...)
}

// TestAlertNoRightToWrite takes the right to write Works from the daemon's ClusterRole.
func TestAlertNoRightToWrite(t *testing.T) {
	ns := Isolate(t)
	giveBack := takeWriteRights(t)
	leader, standby := pair(t)
	CreatePages(t, ns, Push, 10)
	WantSources(t, ns)
	r := NewRecording()
	r.Minutes(t, 8, of(leader, standby))
	r.WantFiring(t, 7)

	giveBack(false)
	for i := range 10 {
		Create(t, ConfigMaps, ConfigMap(ns, fmt.Sprint("denied-", i), Push, "one"))
	}
	Eventually(t, "the refusals", leader.WantMetric(`karmada_mirror_refused_sources{reason="NotAuthorized"}`, 10))
	r.Minutes(t, 25, of(leader, standby))
	r.WantFiring(t, 30, "KarmadaMirrorWritesFailing")
	giveBack(true)
}

// takeWriteRights returns what gives the daemon the right to write Works or takes it.
func takeWriteRights(t *testing.T) (give func(bool)) {
	t.Helper()
	ctx, rbac := t.Context(), Env.Client.RbacV1()
	role, err := rbac.ClusterRoles().Get(ctx, Account, metav1.GetOptions{})
	Must(t, err)
	whole := slices.Clone(role.Rules)
	i := slices.IndexFunc(whole, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, Works.Resource) })
	without := slices.Clone(whole)
	without[i].Verbs = []string{"get", "list", "watch"}
	subject := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: Home(t), Name: Account}
	UnbindClusterRole(t, role.Name, subject)
	copied, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Rules: whole}, metav1.CreateOptions{})
	Must(t, err)
	t.Cleanup(func() { _ = rbac.ClusterRoles().Delete(context.Background(), copied.Name, metav1.DeleteOptions{}) })
	BindClusterRole(t, copied.Name, subject)
	return func(all bool) {
		t.Helper()
		copied.Rules = without
		if all {
			copied.Rules = whole
		}
		copied, err = rbac.ClusterRoles().Update(ctx, copied, metav1.UpdateOptions{})
		Must(t, err)
	}
}

// TestAlertEveryWorkDenied has an admission policy that denies all Works.
func TestAlertEveryWorkDenied(t *testing.T) {
	ns := Isolate(t)
	leader, standby := pair(t)
	CreatePages(t, ns, Push, 10)
	WantSources(t, ns)
	r := NewRecording()
	r.Minutes(t, 8, of(leader, standby))
	lift := denyWorks(t, ns, "CREATE, UPDATE", fmt.Sprintf("request.userInfo.username == %q", User(t)), "message: no Works today")
	// Until the policy is in force, Works are written.
	refused := 0.0
	for i := 0; refused < 30 && i < 300; i++ {
		Create(t, ConfigMaps, ConfigMap(ns, fmt.Sprint("denied-", i), Push, "one"))
		series, err := leader.Series(t.Context())
		Must(t, err)
		refused = series[`karmada_mirror_refused_sources{reason="RenderFailed"}`]
	}
	r.Minutes(t, 20, of(leader, standby))
	r.WantFiring(t, 25, "KarmadaMirrorWritesFailing")
	Must(t, lift(t.Context()))
}

// TestAlertOneOfTwoGone stops one of two installations.
func TestAlertOneOfTwoGone(t *testing.T) {
	Isolate(t)
	blue, green := StartDaemon(t, "--leader-elect=false"), StartDaemon(t, "--leader-elect=false")
	Eventually(t, "blue to write", Leads(blue))
	Eventually(t, "green to write", Leads(green))
	jobs := map[string][]*Daemon{"blue": {blue}, "green": {green}}
	r := NewRecording()
	r.Minutes(t, 5, jobs)
	r.WantFiring(t, 4)
	blue.MustStop(t)
	r.Minutes(t, 10, jobs)
	r.WantFiring(t, 13, "KarmadaMirrorDown")
}

// TestAlertTwoLeaders runs two replicas without leader election.
func TestAlertTwoLeaders(t *testing.T) {
	Isolate(t)
	first, second := StartDaemon(t, "--leader-elect=false"), StartDaemon(t, "--leader-elect=false")
	Eventually(t, "the first to write", Leads(first))
	Eventually(t, "the second to write", Leads(second))
	r := NewRecording()
	r.Minutes(t, 10, of(first, second))
	r.WantFiring(t, 9, "KarmadaMirrorTwoLeaders")
	second.MustStop(t)
	r.Minutes(t, 5, of(first))
	r.WantFiring(t, 13)
}

// TestOneIdentityTwice gives two replicas one name: the Lease still has one holder.
func TestOneIdentityTwice(t *testing.T) {
	Isolate(t)
	leader, standby := pair(t, "--holder-identity", "same")
	time.Sleep(3 * time.Second) // the elector of the second looks at the Lease every second or two
	if standby.Logged("leading") > 0 || leader.HasEnded() {
		t.Error("both lead")
	}
}

// TestAlertServerAwayAtStart starts replicas while the API server does not answer: the
// configuration is not to blame.
func TestAlertServerAwayAtStart(t *testing.T) {
	Isolate(t)
	p := StartProxy(t)
	p.Inject(fault.Match{}, fault.Refuse(apierrors.NewServiceUnavailable("away")))
	first, second := SpawnDaemon(t, "--kubeconfig", p.Kubeconfig()), SpawnDaemon(t, "--kubeconfig", p.Kubeconfig())
	Eventually(t, "metrics", func(context.Context) error {
		if first.Address("metrics") == "" || second.Address("metrics") == "" {
			return errors.New("there are none yet")
		}
		return nil
	})
	r := NewRecording()
	r.Minutes(t, 20, of(first, second))
	r.WantFiring(t, 6, "KarmadaMirrorNoLeader")
	r.WantFiring(t, 18, "KarmadaMirrorNoLeader", "KarmadaMirrorWatchDegraded")
}

// TestAlertLeaderNotScraped hides the leader from Prometheus: there is a leader, as the
// standby knows.
func TestAlertLeaderNotScraped(t *testing.T) {
	Isolate(t)
	leader, standby := pair(t)
	r := NewRecording()
	r.Minutes(t, 5, of(leader, standby))
	r.Minutes(t, 10, of(standby))
	r.WantFiring(t, 13)
	r.Minutes(t, 10, of(standby))
	r.WantFiring(t, 23, "KarmadaMirrorStandbyMissing")
	leader.MustStop(t)
	Eventually(t, "the standby to lead", Leads(standby))
}

// TestAlertTokenExpiring gives the daemon a token that nothing replaces.
func TestAlertTokenExpiring(t *testing.T) {
	Isolate(t)
	seconds := int64(600) // the least that the API server grants
	request, err := Env.Client.CoreV1().ServiceAccounts(Home(t)).CreateToken(t.Context(), Account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	Must(t, err)
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	WriteFile(t, token, []byte(request.Status.Token))
	config, err := clientcmd.LoadFromFile(Kubeconfig(t))
	Must(t, err)
	for _, identity := range config.AuthInfos {
		identity.Token, identity.TokenFile = "", token
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	Must(t, clientcmd.WriteToFile(*config, kubeconfig))
	leader, standby := pair(t, "--kubeconfig", kubeconfig)
	r := NewRecording()
	r.Minutes(t, 10, of(leader, standby))
	r.WantFiring(t, 5)
	r.WantFiring(t, 9, "KarmadaMirrorTokenExpiring")
}

// TestAlertMemoryHigh gives the daemon less memory than it uses.
func TestAlertMemoryHigh(t *testing.T) {
	Isolate(t)
	leader, standby := pair(t, "GOMEMLIMIT=20MiB")
	r := NewRecording()
	r.Minutes(t, 15, of(leader, standby))
	r.WantFiring(t, 14, "KarmadaMirrorMemoryHigh")
}
