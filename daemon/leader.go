package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror"
	"github.com/karmada-target/karmada-mirror/watch"
)

// leaseSyncTimeout is how long to wait for the watch of the Lease.
const leaseSyncTimeout = 2 * time.Second

// expirySlack is how much later than the elector this replica considers the Lease
// expired: the elector's clock starts when its read has been answered.
const expirySlack = 200 * time.Millisecond

// errLostLease ends the process, so that it cannot interfere with the next leader.
var errLostLease = errors.New("lost the lease: another replica may be leading")

// lead leads while this replica holds the Lease. It returns nil when ctx is done and
// leading has ended gracefully; when parts is done, everything ends at once.
func (d *daemon) lead(ctx, parts context.Context) error {
	if !d.options.leaderElect {
		return d.controller.Lead(parts, ctx.Done())
	}
	election, err := d.newElection(ctx)
	if err != nil {
		return err
	}
	return election.run(ctx, parts)
}

// election is client-go's elector with faster takeover. On its own the elector reads
// the Lease every one to two and a bit retry periods, and counts the lease duration
// from that read: it would take over many seconds late. So election watches the Lease,
// and makes the elector read it whenever it changes and when it expires.
type election struct {
	elector *leaderelection.LeaderElector
	lease   *watch.Watch
	changed chan struct{} // the Lease has changed
	// won is set, and ended is created, before a term of leading begins; ended is
	// closed when the term is over.
	won      atomic.Bool
	ended    chan struct{}
	hasLabel atomic.Bool // the label of the last leader has been read in this term
	failed   error       // why leading has ended by itself, once ended is closed
	duration time.Duration
	// synced is closed when the Lease is being watched.
	synced chan struct{}
	// renewed is when the Lease was last seen to be renewed while another replica held it,
	// in Unix nanoseconds; 0 if it is free.
	renewed atomic.Int64
}

// lock records that the Lease was won: the elector calls its own callback from a
// goroutine that may run late. It also keeps the label of the Lease, and leaves the Lease to others until this replica could lead.
type lock struct {
	*resourcelock.LeaseLock
	won, hasLabel *atomic.Bool
	controller    *mirror.Controller
	deadline      time.Duration
}

// ablePeriod is how often to look whether this replica could lead.
const ablePeriod = 100 * time.Millisecond

// awaitAble waits until this replica could lead, if it does not.
func (l lock) awaitAble(ctx context.Context) error {
	isAble := func(context.Context) (bool, error) { return l.won.Load() || l.controller.CanLead(), nil }
	if err := wait.PollUntilContextCancel(ctx, ablePeriod, true, isAble); err != nil {
		return fmt.Errorf("cannot lead yet: %w", cmp.Or(l.controller.Ready(), err))
	}
	return nil
}

// Create implements resourcelock.Interface.
func (l lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if err := l.awaitAble(ctx); err != nil {
		return err
	}
	return l.LeaseLock.Create(ctx, record)
}

// unmarkedLabel on the Lease says that deletions are held whose Works could not be marked.
const unmarkedLabel = "karmada.target/holds-unmarked"

// Update implements resourcelock.Interface.
func (l lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if err := l.awaitAble(ctx); err != nil {
		return err
	}
	if l.hasLabel.Load() { // also at the last update, which releases the Lease
		if holds := l.controller.HoldsUnmarked(); holds || l.Labels != nil {
			l.Labels = map[string]string{unmarkedLabel: strconv.FormatBool(holds)}
		}
	}
	return l.LeaseLock.Update(ctx, record)
}

// readLabel returns the label of the last leader. One read may take as long as a renewal of the Lease, and all three times that.
func (l lock) readLabel(ctx context.Context) (isSet bool, err error) {
	_ = wait.PollUntilContextTimeout(ctx, time.Second, 3*l.deadline, true, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, l.deadline)
		defer cancel()
		var lease *coordinationv1.Lease
		lease, err = l.Client.Leases(l.LeaseMeta.Namespace).Get(ctx, l.LeaseMeta.Name, metav1.GetOptions{})
		isSet = err == nil && lease.Labels[unmarkedLabel] == "true"
		return err == nil, nil
	})
	if err != nil {
		return false, fmt.Errorf("cannot read the Lease after it was won: %w", err)
	}
	return isSet, nil
}

// RecordEvent implements resourcelock.Interface.
func (l lock) RecordEvent(event string) {
	if event == "became leader" {
		l.won.Store(true)
	}
}

func (d *daemon) newElection(ctx context.Context) (*election, error) {
	o := d.options.lease
	client, err := kubernetes.NewForConfig(withLimits(d.rest, -1, 0))
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for the Lease: %w", err)
	}
	e := &election{changed: make(chan struct{}, 1), synced: make(chan struct{}), duration: o.duration}
	lock := lock{&resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: o.namespace, Name: o.name},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: o.identity},
	}, &e.won, &e.hasLabel, d.controller, o.renewDeadline}
	e.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name:            o.name,
		Lock:            lock,
		LeaseDuration:   o.duration,
		RenewDeadline:   o.renewDeadline,
		RetryPeriod:     o.retryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(term context.Context) {
				defer close(e.ended)
				reading, stop := context.WithCancel(term)
				defer stop()
				defer context.AfterFunc(ctx, stop)()
				holdsUnmarked, err := lock.readLabel(reading)
				if err != nil && ctx.Err() == nil { // another replica may be able to
					e.failed = err
				}
				if err != nil {
					return
				}
				if holdsUnmarked {
					d.logger.Warn("the last leader held deletions that it could not mark: holding what is due")
					d.controller.Suspect()
				}
				e.hasLabel.Store(true)
				d.leads.Store(true)
				defer d.leads.Store(false)
				e.failed = d.controller.Lead(term, ctx.Done())
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(identity string) { d.logger.Info("leader elected", zap.String("identity", identity)) },
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot set up leader election: %w", err)
	}
	e.lease = d.newLeaseWatch(e)
	d.metrics.LeaderPresent(e.leaderPresent)
	return e, nil
}

// leaseHolder is the part of the Lease that is cached.
type leaseHolder struct {
	metav1.ObjectMeta
	identity, renewTime string
}

// GetObjectKind implements runtime.Object.
func (*leaseHolder) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (h *leaseHolder) DeepCopyObject() runtime.Object {
	clone := *h
	clone.ObjectMeta = *h.ObjectMeta.DeepCopy()
	return &clone
}

func newLeaseHolder(u *unstructured.Unstructured) *leaseHolder {
	identity, _, _ := unstructured.NestedString(u.Object, "spec", "holderIdentity")
	renewTime, _, _ := unstructured.NestedString(u.Object, "spec", "renewTime")
	return &leaseHolder{
		ObjectMeta: metav1.ObjectMeta{Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion()},
		identity:   identity,
		renewTime:  renewTime,
	}
}

func (d *daemon) newLeaseWatch(e *election) *watch.Watch {
	o := d.options.lease
	announce := sync.OnceFunc(func() { close(e.synced) })
	resource := coordinationv1.SchemeGroupVersion.WithResource("leases")
	return watch.New(watch.Options{
		Resource:  watch.In(resource),
		Client:    d.dynamic,
		Resolver:  watch.Fixed{Resource: resource, Kind: coordinationv1.SchemeGroupVersion.WithKind("Lease").GroupKind(), Namespaced: true},
		Namespace: o.namespace,
		Tweak:     onlyNamed(o.name),
		Transform: watch.Keep(newLeaseHolder),
		Handler: watch.Handler{
			Changed: func(old, new any) {
				before, _ := old.(*leaseHolder)
				holder, ok := new.(*leaseHolder)
				if ok && holder.identity == o.identity {
					return // the elector knows this replica's own writes
				}
				e.noteHolder(before, holder)
				select {
				case e.changed <- struct{}{}:
				default:
				}
			},
			Synced: announce,
		},
		Logger:       d.logger.With(zap.String("lease", o.name)),
		Clock:        clock.RealClock{},
		ListDeadline: d.options.listDeadline,
	})
}

// noteHolder notes whether the Lease has been renewed; now is nil if it was deleted, and before if it was not seen. A list
// shows it again, and others edit it: neither renews it.
func (e *election) noteHolder(before, now *leaseHolder) {
	switch {
	case now == nil || now.identity == "":
		e.renewed.Store(0)
	case before != nil && (before.identity != now.identity || before.renewTime != now.renewTime):
		e.renewed.Store(time.Now().UnixNano())
	}
}

// leaderPresent reports whether a replica holds the Lease and renews it.
func (e *election) leaderPresent() bool {
	renewed := e.renewed.Load()
	return e.elector.IsLeader() || renewed != 0 && time.Since(time.Unix(0, renewed)) < e.duration+expirySlack
}

// run tries to lead until ctx is done. Each attempt is a run of the elector,
// which remembers between runs when it saw the Lease change.
func (e *election) run(ctx, parts context.Context) error {
	parts, cancel := context.WithCancel(parts)
	var watching sync.WaitGroup
	watching.Go(func() { e.lease.Run(parts) })
	defer func() { cancel(); watching.Wait() }()

	select {
	case <-e.synced:
	case <-time.After(leaseSyncTimeout): // takeover works without the watch, but slower
	case <-ctx.Done():
	case <-parts.Done():
	}
	e.forgetChange()
	for ctx.Err() == nil && parts.Err() == nil {
		won, nudged := e.attempt(ctx, parts)
		switch {
		case e.failed != nil:
			return e.failed
		case won && !nudged && ctx.Err() == nil:
			return errLostLease
		}
	}
	return nil
}

// forgetChange drops a change that the elector's first read of the Lease shows anyway.
func (e *election) forgetChange() {
	select {
	case <-e.changed:
	default:
	}
}

// attempt runs the elector once and waits for the term of leading, if there was
// one. nudged reports that the attempt was cut short to make the elector read the
// Lease at once.
func (e *election) attempt(ctx, parts context.Context) (won, nudged bool) {
	// The elector logs every run, which is news only once.
	quiet := klog.NewContext(parts, klog.Background().V(4))
	attempt, cancel := context.WithCancel(quiet)
	defer cancel()
	e.won.Store(false)
	e.hasLabel.Store(false)
	e.ended = make(chan struct{})
	elected := make(chan struct{})
	go func() { defer close(elected); e.elector.Run(attempt) }()

	expiry := time.NewTimer(e.duration + expirySlack)
	defer expiry.Stop()
	stop := ctx.Done()
	for {
		select {
		case <-elected:
			if e.won.Load() {
				<-e.ended
			}
			return e.won.Load(), nudged
		case <-e.ended: // gracefully: now the Lease can be released
			cancel()
			<-elected
			return true, nudged
		case <-stop:
			stop = nil
		case <-e.changed:
		case <-expiry.C:
		}
		if !e.elector.IsLeader() {
			// A replica that won but no longer leads has lost the Lease.
			nudged = !e.won.Load()
			cancel()
		}
	}
}
