package shared

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
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
	r.Minutes(t, 10, of(nil, standby))
	r.WantFiring(t, 13)
	r.Minutes(t, 10, of(nil, standby))
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
	r.Minutes(t, 12, of(leader, standby))
	r.WantFiring(t, 7)
	r.WantFiring(t, 11, "KarmadaMirrorTokenExpiring")
}

// TestAlertMemoryHigh gives two installations less memory than they have resident. What the
// first holds hardly fits; the second only has to collect its garbage, once it has read all.
func TestAlertMemoryHigh(t *testing.T) {
	Isolate(t)
	held := func(d *Daemon) float64 {
		return d.Number(t, "go_gc_heap_live_bytes") + d.Number(t, "go_memstats_sys_bytes") - d.Number(t, "go_memstats_heap_sys_bytes")
	}
	// So little that it collects garbage all the time: a collection during the start, whose garbage
	// or whose missing objects it counts, says nothing.
	probe := StartDaemon(t, "GOMEMLIMIT=16MiB")
	const collections = "go_gc_duration_seconds_count"
	ready, needed := probe.Number(t, collections), math.Inf(1)
	Eventually(t, "collections after the start", func(context.Context) error {
		n := probe.Number(t, collections) - ready
		if n > 5 {
			needed = min(needed, held(probe))
		}
		if n < 15 {
			return fmt.Errorf("%.0f so far", n)
		}
		return nil
	})
	probe.MustStop(t)
	// Two daemons differ by a tenth, and the start by another: both shares are that far from the
	// threshold, which promtool tests exactly (prometheusrule_test.yaml).
	for share, alerts := range map[float64][]string{1.2: {"KarmadaMirrorMemoryHigh"}, 0.6: nil} {
		limit := needed / share
		leader, standby := pair(t, fmt.Sprintf("GOMEMLIMIT=%.0f", limit))
		if resident := leader.Number(t, "process_resident_memory_bytes"); resident < limit {
			t.Fatalf("of %.0f bytes, only %.0f are resident", limit, resident)
		}
		if alerts == nil {
			for _, d := range []*Daemon{leader, standby} {
				Eventually(t, "the garbage of the start to be collected", func(context.Context) error {
					if now := held(d) / limit; now > share+0.15 {
						return fmt.Errorf("%.2f of the limit is in use, not %.2f", now, share)
					}
					return nil
				})
			}
		}
		r := NewRecording()
		r.Minutes(t, 15, of(leader, standby))
		r.WantFiring(t, 14, alerts...)
		leader.MustStop(t)
		standby.MustStop(t)
	}
}

// TestAlertNotConfigured starts two replicas that may not read their ConfigMap: the leader
// has the Lease, and waits.
func TestAlertNotConfigured(t *testing.T) {
	ns := Isolate(t)
	// By default, all ConfigMaps may be read because they are mirrored.
	const mirrored = Account + "-resources"
	subject := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: Account}
	UnbindClusterRole(t, mirrored, subject)
	whole := changeRole(t, func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
		return slices.DeleteFunc(rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, ConfigMaps.Resource) })
	})
	Eventually(t, "the Role to be in force", func(ctx context.Context) error {
		if _, err := AsDaemon(t).Resource(ConfigMaps).Namespace(ns).Get(ctx, Account, metav1.GetOptions{}); !apierrors.IsForbidden(err) {
			return fmt.Errorf("the ConfigMap can be read: %v", err)
		}
		return nil
	})
	leader := SpawnDaemon(t)
	Eventually(t, "the first to hold the Lease", leader.WantMetric(`leader_election_master_status{name="karmada-mirror"}`, 1))
	Eventually(t, "the first to say that it waits", leader.WantLogged("cannot lead yet", 1))
	standby := SpawnDaemon(t)
	Eventually(t, "the second to see the Lease", standby.WantMetric(fmt.Sprintf("karmada_mirror_leader_present{configuration=%q}", ns+"/"+Account), 1))
	r := NewRecording()
	r.Minutes(t, 15, of(leader, standby))
	r.WantFiring(t, 8)
	r.WantFiring(t, 14, "KarmadaMirrorNotWriting")

	changeRole(t, func([]rbacv1.PolicyRule) []rbacv1.PolicyRule { return whole })
	BindClusterRole(t, mirrored, subject)
	Within(t, 2*Patience, "the configuration, for which client-go waits up to 30 s", func(ctx context.Context) error {
		return errors.Join(leader.WantMetric(ReloadSuccessful, 1)(ctx), standby.WantMetric(ReloadSuccessful, 1)(ctx))
	})
	Eventually(t, "the first to lead", Leads(leader))
	r.Minutes(t, 2, of(leader, standby))
	r.WantFiring(t, 16)
}

// changeRole changes the rules of the Role of a test's daemons, and returns those before.
func changeRole(t *testing.T, change func([]rbacv1.PolicyRule) []rbacv1.PolicyRule) (before []rbacv1.PolicyRule) {
	t.Helper()
	roles := Env.Client.RbacV1().Roles(Home(t))
	role, err := roles.Get(t.Context(), Account, metav1.GetOptions{})
	Must(t, err)
	before = slices.Clone(role.Rules)
	role.Rules = change(role.Rules)
	_, err = roles.Update(t.Context(), role, metav1.UpdateOptions{})
	Must(t, err)
	return before
}

// TestAlertAnotherHolder runs a second daemon with a ConfigMap of its own, which at first
// uses the Lease of the first daemon. A copy of the Deployment is scraped in its job, too.
func TestAlertAnotherHolder(t *testing.T) {
	ns := Isolate(t)
	leader, standby := pair(t)
	const second = "shop"
	Create(t, ConfigMaps, Object("v1", "ConfigMap", ns, second, map[string]any{"data": map[string]any{config.Key: Resources(t, "configmaps")}}))
	changeRole(t, func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
		for i := range rules {
			if len(rules[i].ResourceNames) > 0 {
				rules[i].ResourceNames = append(rules[i].ResourceNames, second)
			}
		}
		return rules
	})
	forgot := StartDaemon(t, "--config-map", ns+"/"+second)
	for _, jobs := range []map[string][]*Daemon{{"karmada-mirror": {leader, standby}, second: {forgot}}, of(leader, standby, forgot)} {
		r := NewRecording()
		r.Minutes(t, 13, jobs)
		r.WantFiring(t, 8)
		r.WantFiring(t, 12, "KarmadaMirrorNotWriting")
	}
	forgot.MustStop(t)

	own := StartDaemon(t, "--config-map", ns+"/"+second, "--leader-elect-resource-name", second)
	Eventually(t, "the second daemon to lead", Leads(own))
	r := NewRecording()
	r.Minutes(t, 13, of(leader, standby, own))
	r.WantFiring(t, 12)
}

// TestAlertTenantRefused has tenants whom the configuration allows nothing, and a write that
// conflicts: the daemon has all its rights.
func TestAlertTenantRefused(t *testing.T) {
	ns := Isolate(t)
	Configure(t, Resources(t, "configmaps")+"authorization:\n- {clusters: ["+Push+"]}\n")
	p := StartProxy(t)
	leader, standby := pair(t, "--kubeconfig", p.Kubeconfig())
	CreatePages(t, ns, Push, 1)
	WantInMembers(t, ns, "page-0", "one", Push)
	for i := range 5 {
		Create(t, ConfigMaps, ConfigMap(ns, fmt.Sprint("tenant-", i), Push2, "one"))
	}
	Eventually(t, "the refusals", leader.WantMetric(`karmada_mirror_refused_sources{reason="NotAuthorized"}`, 5))
	// A new Namespace reaches the member some seconds after its objects, which is much of a Recording.
	Eventually(t, "the Work to be applied", leader.WantMetric(fmt.Sprintf(`karmada_mirror_works{member_cluster=%q,state="applied"}`, Push), 1))
	r := NewRecording()
	r.Minutes(t, 2, of(leader, standby))
	conflict := p.Inject(fault.Match{Verb: "patch", Resource: Works.Resource}, fault.Refuse(apierrors.NewConflict(Works.GroupResource(), "page-0", nil)))
	Change(t, ConfigMaps, ns, "page-0", SetField("two", "data", "key"))
	Eventually(t, "the conflict", func(context.Context) error { return Hit(conflict) })
	conflict.Remove()
	WantInMembers(t, ns, "page-0", "two", Push)
	r.Minutes(t, 15, of(leader, standby))
	r.WantFiring(t, 9)
	r.WantFiring(t, 16)
}

// TestAlertWaveHeld has a member whose own object is in the way, and which is the canary.
func TestAlertWaveHeld(t *testing.T) {
	ns := Isolate(t)
	leader, standby := pair(t)
	r := NewRecording()
	r.Minutes(t, 2, of(leader, standby))
	Eventually(t, "the Namespace in the member", func(ctx context.Context) error {
		_, err := Env.Member(Push).Resource(ConfigMaps).Namespace(ns).Create(ctx, Object("v1", "ConfigMap", ns, "page", nil), metav1.CreateOptions{})
		return err
	})
	page := ConfigMap(ns, "page", Push+","+Push2, "one")
	SetAnnotation(render.WavesAnnotation, Push+";*")(page)
	SetAnnotation(render.WaveDeadlineAnnotation, "1s")(page)
	Create(t, ConfigMaps, page)
	const held = `karmada_mirror_wave_held_sources{resource="configmaps"}`
	Eventually(t, "the wave to be held", leader.WantMetric(held, 1))
	r.Minutes(t, 10, of(leader, standby))
	r.WantFiring(t, 6)
	r.WantFiring(t, 11, "KarmadaMirrorWaveHeld")

	Change(t, ConfigMaps, ns, "page", func(u *unstructured.Unstructured) {
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations", render.WavesAnnotation)
	})
	WantInMembers(t, ns, "page", "one", Push2)
	Eventually(t, "nothing to be held", leader.WantMetric(held, 0))
	r.Minutes(t, 4, of(leader, standby))
	r.WantFiring(t, 15)
}

// TestAlertConfigurationRejected makes a mistake in the configuration.
func TestAlertConfigurationRejected(t *testing.T) {
	Isolate(t)
	leader, standby := pair(t)
	r := NewRecording()
	r.Minutes(t, 3, of(leader, standby))
	good := SetConfiguration(t, "resources: 7\n")
	seen := func(want float64) {
		t.Helper()
		Eventually(t, "both to have seen it", func(ctx context.Context) error {
			return errors.Join(leader.WantMetric(ReloadSuccessful, want)(ctx), standby.WantMetric(ReloadSuccessful, want)(ctx))
		})
	}
	seen(0)
	r.Minutes(t, 8, of(leader, standby))
	r.WantFiring(t, 6)
	r.WantFiring(t, 10, "KarmadaMirrorConfigurationRejected")
	SetConfiguration(t, good)
	seen(1)
	r.Minutes(t, 2, of(leader, standby))
	r.WantFiring(t, 12)
}

// TestAlertSyncsFailing lets the API server fail at every write of a Work: no write is
// denied, and all are retried.
func TestAlertSyncsFailing(t *testing.T) {
	ns := Isolate(t)
	p := StartProxy(t)
	leader, standby := pair(t, "--kubeconfig", p.Kubeconfig())
	CreatePages(t, ns, Push, 3)
	WantSources(t, ns)
	r := NewRecording()
	r.Minutes(t, 2, of(leader, standby))
	failing := p.Inject(fault.Match{Verb: "create", Resource: Works.Resource}, fault.Refuse(apierrors.NewServiceUnavailable("etcd is away")))
	for i := range 10 { // so few are not enough for KarmadaMirrorPropagationSlow
		Create(t, ConfigMaps, ConfigMap(ns, fmt.Sprint("late-", i), Push, "one"))
		r.Minutes(t, 2, of(leader, standby))
	}
	r.WantFiring(t, 10)
	r.WantFiring(t, 21, "KarmadaMirrorSyncsFailing")
	failing.Remove()
	WantSources(t, ns)
	r.Minutes(t, 12, of(leader, standby))
	r.WantFiring(t, 33)
}

// TestAlertRestarting restarts two replicas, as two rotations of the CA would, and then one
// of them again and again.
func TestAlertRestarting(t *testing.T) {
	Isolate(t)
	leader, standby := pair(t)
	replicas, r := []*Daemon{leader, standby}, NewRecording()
	r.Minutes(t, 2, of(replicas...))
	stop := func(i int) {
		t.Helper()
		replicas[i].MustStop(t)
		Eventually(t, "the other to lead", Leads(replicas[1-i]))
		r.Minutes(t, 2, of(replicas...))
	}
	start := func(i int) {
		t.Helper()
		replicas[i] = StartDaemon(t)
		r.Minutes(t, 2, of(replicas...))
	}
	for _, i := range []int{0, 1, 0, 1} {
		stop(i)
		start(i)
	}
	r.WantFiring(t, 17)
	stop(1)
	r.WantFiring(t, 19)
	start(1)
	r.WantFiring(t, 21, "KarmadaMirrorRestarting")
	stop(1)
	r.WantFiring(t, 23, "KarmadaMirrorRestarting")
}
