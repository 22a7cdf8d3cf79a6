package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"
)

// leaseDuration is the default of --leader-elect-lease-duration.
const leaseDuration = 15 * time.Second

func TestTwoReplicas(t *testing.T) {
	first := startDaemon(t)
	ns := newNamespace(t)
	eventually(t, "the first to lead", leads(first))
	second := startDaemon(t)
	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
	if second.logged("leading") > 0 || second.logged("wrote a Work") > 0 {
		t.Fatal("the standby has written")
	}

	t.Run("Killed", func(t *testing.T) {
		begin := time.Now()
		first.kill(t)
		create(t, configMaps, configMap(ns, "after-kill", both, "one"))
		within(t, leaseDuration+2*time.Second, "the standby to take over", func(ctx context.Context) error {
			_, err := getWork(ctx, configMapWork(ns, "after-kill", push))
			return err
		})
		t.Logf("kill -9 of the leader: the first Work of the other after %s", time.Since(begin).Round(10*time.Millisecond))
		wantInMembers(t, ns, "after-kill", "one", push, pull)
	})
	t.Run("Terminated", func(t *testing.T) {
		third := startDaemon(t)
		begin := time.Now()
		second.terminate(t)
		create(t, configMaps, configMap(ns, "after-term", both, "one"))
		within(t, time.Until(begin.Add(2*time.Second)), "the standby to take over", func(ctx context.Context) error {
			_, err := getWork(ctx, configMapWork(ns, "after-term", push))
			return err
		})
		t.Logf("SIGTERM of the leader: the first Work of the other after %s", time.Since(begin).Round(10*time.Millisecond))
		if <-second.ended; second.err != nil {
			t.Errorf("the leader ended badly: %v", second.err)
		}
		wantInMembers(t, ns, "after-term", "one", push, pull)
		if err := leads(third)(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func leads(d *daemon) func(context.Context) error {
	return func(context.Context) error {
		if d.logged("leading") == 0 {
			return fmt.Errorf("it does not lead")
		}
		return nil
	}
}

// launchLeader starts a daemon that the test will stop or kill.
func launchLeader(t *testing.T, flags ...string) *daemon {
	t.Helper()
	d := launchDaemon(t, flags...)
	endAtEnd(t, d)
	eventually(t, "the first to lead", leads(d))
	return d
}

// testLeaderPaused stops a leader in the midst of its writes, which reach the API
// server when another leads.
func testLeaderPaused(t *testing.T) {
	const late = 35 * time.Second
	ns := newNamespace(t)
	flags := slice(t, ns)
	p := startProxy(t, env.kubeconfig)
	first := launchLeader(t, append(flags, "--kubeconfig", p.Kubeconfig())...)
	second := startDaemon(t, flags...)
	ids := createPages(t, ns, both, 20)
	wantSources(t, ns)
	f := newFault(t, "Two leaders: the first stopped for 40 s, then continued", ns)
	f.only(ids, push, push2, pull)
	writes := p.Inject(fault.Match{Verb: "patch", Resource: "works"}, fault.Delay(late))
	for _, id := range ids {
		change(t, configMaps, ns, id.Name, setField("two", "data", "key"))
	}
	eventually(t, "writes under way", func(context.Context) error { return hit(writes) })
	if err := first.command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	eventually(t, "the second to lead", leads(second))
	for _, id := range ids {
		change(t, configMaps, ns, id.Name, setField("three", "data", "key"))
	}
	workload(t, f, ns, ids[:8])
	wantSources(t, ns)
	versions := generationsOf(t, ns)
	eventually(t, "the stale writes to be refused", func(context.Context) error { return f.conflicted() })
	pass(t, time.Until(stopped.Add(40*time.Second)))
	if err := first.command.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	f.heal()
	first.wantExit(t, patience)
	f.converge(patience)
	if diff := cmp.Diff(versions, generationsOf(t, ns)); diff != "" {
		t.Errorf("stale writes were accepted, -before +after:\n%s", diff)
	}
}

// conflicted returns an error until an update of a Work of this test has been refused
// because the Work has changed.
func (f *faultRow) conflicted() error {
	for _, r := range f.audit.requests(f.t) {
		if r.Verb == "patch" && f.known[r.ObjectRef.Namespace+"/"+r.ObjectRef.Name] && r.ResponseStatus.Code == http.StatusConflict {
			return nil
		}
	}
	return errors.New("none was")
}

// generationsOf tells how often the spec of each of a namespace's Works was
// written.
func generationsOf(t *testing.T, namespace string) map[string]int64 {
	t.Helper()
	generations := map[string]int64{}
	for w := range worksOf(t, namespace) {
		generations[w.Namespace+"/"+w.Name] = w.Generation
	}
	return generations
}

func testLaggingStandby(t *testing.T) {
	ns := newNamespace(t)
	flags := slice(t, ns)
	first := launchLeader(t, flags...)
	ids := createPages(t, ns, both, 10)
	wantSources(t, ns)
	p := startProxy(t, env.kubeconfig)
	behind := append(flags, "--kubeconfig", p.Kubeconfig())
	// The standby reads the sources as they are now, and hears no more of them.
	stale := fault.NewRecording()
	listening := p.Inject(watchSources, stale.Record())
	probe := startDaemon(t, behind...)
	if err := probe.stop(); err != nil {
		t.Fatal(err)
	}
	listening.Remove()
	silence := p.Inject(watchSources, stale.Replay())
	standby := startDaemon(t, behind...)
	f := newFault(t, "Failover to a standby that lags", ns)
	f.only(append(ids, render.Identity{Kind: "ConfigMap", Namespace: ns, Name: "page-new"}), push, push2, pull)
	workload(t, f, ns, ids)
	create(t, configMaps, configMap(ns, "page-new", both, "one"))
	wantSources(t, ns)
	versions := generationsOf(t, ns)
	first.kill(t)
	eventually(t, "the standby to lead", leads(standby))
	eventually(t, "all to be looked at", atLeastSyncs(standby, len(ids)))
	pass(t, 2*time.Second) // for longer than a deletion takes to settle
	if diff := cmp.Diff(versions, generationsOf(t, ns)); diff != "" {
		t.Errorf("the standby has written, -before +after:\n%s", diff)
	}
	silence.Remove()
	change(t, configMaps, ns, "page-3", setField("three", "data", "key"))
	f.heal()
	f.converge(2 * patience)
}

// testClockSkew plays a leader whose clock is an hour off: what the standby sees
// of another's clock is what stands in the Lease.
func testClockSkew(t *testing.T, skew time.Duration) {
	ns := newNamespace(t)
	leases := env.client.CoordinationV1().Leases(system)
	renew := func(ctx context.Context) error {
		now := metav1.NewMicroTime(time.Now().Add(skew))
		lease, err := leases.Get(ctx, ns, metav1.GetOptions{})
		missing := apierrors.IsNotFound(err)
		if missing {
			lease, err = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: ns}}, nil
		}
		if err != nil {
			return err
		}
		lease.Spec = coordinationv1.LeaseSpec{
			HolderIdentity: new("skewed"), LeaseDurationSeconds: new(int32(15)), AcquireTime: &now, RenewTime: &now,
		}
		if missing {
			_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
			return err
		}
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return err
	}
	eventually(t, "the Lease to be ours", renew)
	living, vanish := context.WithCancel(t.Context())
	var leader sync.WaitGroup
	leader.Go(func() {
		wait.UntilWithContext(living, func(ctx context.Context) { _ = renew(ctx) }, 2*time.Second) // as a leader does: it tries again
	})
	defer leader.Wait()
	defer vanish()
	f := newFault(t, fmt.Sprintf("The leader's clock one hour off (%s); it vanishes", skew), ns)
	f.note = "from its last sign; the Lease lasts 15 s"
	standby := startDaemon(t, slice(t, ns)...)
	f.only(createPages(t, ns, both, 3), push, pull)
	pass(t, 20*time.Second)
	if standby.logged("leading") > 0 {
		t.Fatal("the standby leads beside the leader")
	}
	vanish()
	leader.Wait()
	f.heal()
	f.converge(2 * patience)
}
