package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
)

// daemonAccount is the daemon's ServiceAccount, as manifests/karmada creates it.
const daemonAccount = daemon.Namespace + "/karmada-mirror"

// checkDaemon looks at the traces that a running daemon leaves on the API server.
func (c *checker) checkDaemon(ctx context.Context) error {
	c.group("Daemon")
	if err := c.checkLease(ctx); err != nil {
		return err
	}
	if err := c.checkHeld(ctx); err != nil {
		return err
	}
	return c.checkFences(ctx)
}

func (c *checker) checkLease(ctx context.Context) error {
	const hint = "on the host cluster: kubectl -n " + daemon.Namespace + " get pods -l app.kubernetes.io/name=karmada-mirror, and their logs"
	lease, err := c.client.CoordinationV1().Leases(c.lease.Namespace).Get(ctx, c.lease.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		c.warn("ask an administrator", "you may not read Lease %s/%s: whether a replica leads is not known", c.lease.Namespace, c.lease.Name)
		return nil
	case apierrors.IsNotFound(err):
		c.fail(hint, "no replica leads: Lease %s/%s is missing", c.lease.Namespace, c.lease.Name)
		return nil
	case err != nil:
		return fmt.Errorf("cannot read the Lease: %w", err)
	}
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		c.fail(hint, "no replica leads: the last leader has released the Lease")
		c.checkWrite(ctx, lease)
		return nil
	}
	since := time.Since(spec.RenewTime.Time).Round(time.Second)
	if isOld := since > time.Duration(*spec.LeaseDurationSeconds)*time.Second; (isOld || since < 0) && !c.isRenewed(ctx, lease) {
		c.fail(hint, "no replica leads: %s last renewed the Lease %s ago, by the clock here", *spec.HolderIdentity, since)
		c.checkWrite(ctx, lease)
		return nil
	}
	c.pass("%s leads", *spec.HolderIdentity)
	return nil
}

// renewWait is longer than a leader waits before it renews its Lease.
const renewWait = 5 * time.Second

// isRenewed reports whether a leader renews its Lease: its clock may differ from the one here.
func (c *checker) isRenewed(ctx context.Context, lease *coordinationv1.Lease) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(renewWait):
	}
	now, err := c.client.CoordinationV1().Leases(lease.Namespace).Get(ctx, lease.Name, metav1.GetOptions{})
	return err == nil && !now.Spec.RenewTime.Equal(lease.Spec.RenewTime)
}

// checkedAnnotation is on a Lease that no replica holds: when check last tried to write it.
const checkedAnnotation = "karmada.target/checked"

// checkWrite tries a write while no replica does: where etcd is full, all reads are fine.
func (c *checker) checkWrite(ctx context.Context, lease *coordinationv1.Lease) {
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, checkedAnnotation, time.Now().UTC().Format(time.RFC3339Nano))
	_, err := c.client.CoordinationV1().Leases(lease.Namespace).Update(ctx, lease, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsConflict(err) { // the rights are looked at above, and who else writes can
		c.fail("the API server's etcd may be full: see the runbook KarmadaMirrorNoLeader", "the API server stores nothing: %v", err)
	}
}

// checkHeld looks for the marks of the deletion breaker.
func (c *checker) checkHeld(ctx context.Context) error {
	works, err := heldWorks(ctx, c.rest, c.configuration, "")
	if apierrors.IsForbidden(err) {
		return nil // the rights are looked at above
	}
	if err != nil {
		return err
	}
	held := slices.DeleteFunc(slices.Clone(works), func(w heldWork) bool { return w.Approved })
	if approved := len(works) - len(held); approved > 0 {
		c.warn(judge.HintApproved, "the deletion of %d Works is approved, and not carried out yet", approved)
	}
	if len(held) > 0 {
		c.warn(judge.DeletionHeld.Hint(), "the deletion of %d Works is held", len(held))
		return nil
	}
	c.pass("no deletion is held")
	return nil
}
