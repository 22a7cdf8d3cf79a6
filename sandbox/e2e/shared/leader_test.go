package shared

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karmada-target/karmada-mirror/sandbox/fault"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// leaseDuration is the default of --leader-elect-lease-duration.
const leaseDuration = 15 * time.Second

// shortLease are the flags of daemons that wait less long for each other's Lease.
func shortLease() []string {
	return []string{"--leader-elect-lease-duration", shortLeaseDuration.String(), "--leader-elect-renew-deadline", "4s", "--leader-elect-retry-period", "1s"}
}

const shortLeaseDuration = 6 * time.Second

func TestTwoReplicas(t *testing.T) {
	ns := Isolate(t)
	first := StartDaemon(t)
	Eventually(t, "the first to lead", Leads(first))
	second := StartDaemon(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Both, "one"))
	WantInMembers(t, ns, "page", "one", Push, Pull)
	if second.Logged("leading") > 0 || second.Logged("wrote a Work") > 0 {
		t.Fatal("the standby has written")
	}

	t.Run("Killed", func(t *testing.T) {
		begin := time.Now()
		first.KillNow(t)
		Create(t, ConfigMaps, ConfigMap(ns, "after-kill", Both, "one"))
		Within(t, 2*leaseDuration, "the standby to take over", func(ctx context.Context) error {
			_, err := GetWork(ctx, ConfigMapWork(ns, "after-kill", Push))
			return err
		})
		t.Logf("kill -9 of the leader: the other's first Work after %s", time.Since(begin).Round(10*time.Millisecond))
		WantInMembers(t, ns, "after-kill", "one", Push, Pull)
	})
	t.Run("Terminated", func(t *testing.T) {
		third := StartDaemon(t)
		begin := time.Now()
		second.Terminate(t)
		Create(t, ConfigMaps, ConfigMap(ns, "after-term", Both, "one"))
		Within(t, leaseDuration*2/3, "the standby to take over before the Lease expires", func(ctx context.Context) error {
			_, err := GetWork(ctx, ConfigMapWork(ns, "after-term", Push))
			return err
		})
		t.Logf("SIGTERM of the leader: the other's first Work after %s", time.Since(begin).Round(10*time.Millisecond))
		if <-second.Ended(); second.Err() != nil {
			t.Errorf("the leader ended badly: %v", second.Err())
		}
		WantInMembers(t, ns, "after-term", "one", Push, Pull)
		if err := Leads(third)(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestLeaderPaused stops a leader in the middle of its writes, which reach the API server
// when another replica has made its own.
func TestLeaderPaused(t *testing.T) {
	ns := Isolate(t)
	const stops = 20 * time.Second
	p := StartProxy(t)
	first := LaunchLeader(t, append(shortLease(), throughProxy(t, p)...)...)
	second := StartDaemon(t, shortLease()...)
	ids := CreatePages(t, ns, Both, 20)
	WantSources(t, ns)
	f := NewFault(t, fmt.Sprintf("Two leaders: the first stopped for %s, then continued", stops), ns)
	late := fault.NewGate()
	late.Shut()
	writes := p.Inject(fault.Match{Verb: "patch", Resource: "works"}, late.Requests())
	for _, id := range ids {
		Change(t, ConfigMaps, ns, id.Name, SetField("two", "data", "key"))
	}
	Eventually(t, "writes in flight", func(context.Context) error { return Hit(writes) })
	if err := first.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	Eventually(t, "the second to lead", Leads(second))
	for _, id := range ids {
		Change(t, ConfigMaps, ns, id.Name, SetField("three", "data", "key"))
	}
	Workload(t, f, ns, ids[:8])
	WantSources(t, ns)
	versions := generationsOf(t, ns)
	late.Open()
	Eventually(t, "the stale writes to be refused", func(context.Context) error { return f.Audit.Conflicted(t) })
	Pass(t, time.Until(stopped.Add(stops)))
	if err := first.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	f.Heal()
	first.WantExit(t, Patience)
	f.Converge(Patience)
	if diff := cmp.Diff(versions, generationsOf(t, ns)); diff != "" {
		t.Errorf("stale writes were accepted, -before +after:\n%s", diff)
	}
}

// generationsOf returns the generation of each of a namespace's Works, which counts the
// writes of its spec.
func generationsOf(t *testing.T, namespace string) map[string]int64 {
	t.Helper()
	generations := map[string]int64{}
	for _, w := range WorksOf(t, namespace) {
		generations[w.GetNamespace()+"/"+w.GetName()] = w.GetGeneration()
	}
	return generations
}

func TestLaggingStandby(t *testing.T) {
	ns := Isolate(t)
	first := LaunchLeader(t, shortLease()...)
	ids := CreatePages(t, ns, Both, 10)
	WantSources(t, ns)
	p := StartProxy(t)
	lagging := append(shortLease(), throughProxy(t, p)...)
	// The standby reads the sources as they are now, and sees no later changes.
	stale := fault.NewRecording()
	listening := p.Inject(watchSources, stale.Record())
	probe := StartDaemon(t, lagging...)
	probe.MustStop(t)
	listening.Remove()
	silence := p.Inject(watchSources, stale.Replay())
	standby := StartDaemon(t, lagging...)
	f := NewFault(t, "Failover to a standby with a stale cache", ns)
	Workload(t, f, ns, ids)
	Create(t, ConfigMaps, ConfigMap(ns, "page-new", Both, "one"))
	WantSources(t, ns)
	versions := generationsOf(t, ns)
	first.KillNow(t)
	Eventually(t, "the standby to lead", Leads(standby))
	Eventually(t, "the standby to get the stale list", func(context.Context) error { return Took(silence) })
	Eventually(t, "all sources to be synced", AtLeastSyncs(standby, len(ids)))
	Eventually(t, "the queue to be empty", settled(standby))
	Settle(t)
	if diff := cmp.Diff(versions, generationsOf(t, ns)); diff != "" {
		t.Errorf("the standby wrote, -before +after:\n%s", diff)
	}
	silence.Remove()
	Change(t, ConfigMaps, ns, "page-3", SetField("three", "data", "key"))
	f.Heal()
	f.Converge(2 * Patience)
}

func TestClockAhead(t *testing.T) { testClockSkew(t, time.Hour) }

func TestClockBehind(t *testing.T) { testClockSkew(t, -time.Hour) }

// testClockSkew plays a leader whose clock is an hour off: a standby sees another's clock
// only in the Lease.
func testClockSkew(t *testing.T, skew time.Duration) {
	ns := Isolate(t)
	leases := Env.Client.CoordinationV1().Leases(ns)
	renew := func(ctx context.Context) error {
		now := metav1.NewMicroTime(time.Now().Add(skew))
		lease, err := leases.Get(ctx, Account, metav1.GetOptions{})
		missing := apierrors.IsNotFound(err)
		if missing {
			lease, err = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: Account}}, nil
		}
		if err != nil {
			return err
		}
		lease.Spec = coordinationv1.LeaseSpec{
			HolderIdentity: new("skewed"), LeaseDurationSeconds: new(int32(shortLeaseDuration.Seconds())), AcquireTime: &now, RenewTime: &now,
		}
		if missing {
			_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
			return err
		}
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return err
	}
	Eventually(t, "the Lease to be the skewed leader's", renew)
	living, vanish := context.WithCancel(t.Context())
	var leader sync.WaitGroup
	leader.Go(func() {
		wait.UntilWithContext(living, func(ctx context.Context) { _ = renew(ctx) }, time.Second) // retries, as a leader does
	})
	defer leader.Wait()
	defer vanish()
	f := NewFault(t, fmt.Sprintf("The leader's clock one hour off (%s); it stops renewing", skew), ns)
	f.Note = fmt.Sprintf("from its last renewal; the Lease lasts %s", shortLeaseDuration)
	standby := StartDaemon(t, shortLease()...)
	CreatePages(t, ns, Both, 3)
	Pass(t, 3*shortLeaseDuration/2)
	if standby.Logged("leading") > 0 {
		t.Fatal("the standby leads while the leader renews its Lease")
	}
	vanish()
	leader.Wait()
	f.Heal()
	f.Converge(2 * Patience)
}
