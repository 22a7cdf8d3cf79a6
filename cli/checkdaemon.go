package cli

import (
	"context"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/watch"
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
	l, err := readLeader(ctx, c.client, types.NamespacedName{Namespace: c.lease.Namespace, Name: c.lease.Name})
	switch {
	case apierrors.IsForbidden(err):
		c.warn("ask an administrator", "you may not read Lease %s/%s: whether a replica leads is not known", c.lease.Namespace, c.lease.Name)
		return nil
	case err != nil:
		return err
	case l.absence != "":
		c.fail(hint, "no replica leads: %s", l.absence)
		c.checkWrite(ctx, l.lease)
		return nil
	}
	c.pass("%s leads", l.identity)
	c.checkStatus(l.identity)
	return nil
}

// checkStatus looks at what the leader says of itself.
func (c *checker) checkStatus(leader string) {
	if c.view == nil {
		return
	}
	s := c.view.status
	if s == nil || s.Leader != leader {
		c.warn("kubectl apply --server-side -k manifests/karmada, and see the log of the leader", "the leader does not say what it does in ConfigMap %s, not yet, or you may not read it", daemon.StatusName(c.name))
		return
	}
	c.pass("it is karmada-mirror %s, and leads since %s", s.Version, stamp(s.Since))
	if c.view.isInForce() {
		c.pass("it has the configuration in force, since %s", stamp(s.Configuration.Since))
	} else if c.view.mistake != nil { // which is said above
		c.warn("", "it has the configuration of %s in force", stamp(s.Configuration.Since))
	} else {
		c.fail("", "%s", c.view.notInForce())
	}
	for _, r := range s.Resources {
		if r.Reason != "" && r.State != watch.Pending {
			c.fail("see the runbook KarmadaMirrorWatchDegraded", "it cannot watch %s since %s: %s", r.Resource, stamp(ptr.Deref(r.Since, metav1.Time{})), r.Reason)
		}
	}
}

// checkedAnnotation is on a Lease that no replica holds: when check last tried to write it.
const checkedAnnotation = "karmada.target/checked"

// checkWrite tries a write while no replica does: where etcd is full, all reads are fine.
func (c *checker) checkWrite(ctx context.Context, lease *coordinationv1.Lease) {
	if lease == nil {
		return
	}
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
