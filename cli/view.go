package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/daemon"
)

// view is what can be read of a daemon: its ConfigMap, and what the replica that leads says.
type view struct {
	parts config.Parts
	// ignored are keys of the ConfigMap that are no parts.
	ignored   []string
	approvals config.Approvals
	// configuration is what can be used of the ConfigMap, and mistake why that is not all of it. It is nil if that is nothing.
	configuration *config.Configuration
	mistake       error
	// status is what the replica that leads says; nil if it is not known.
	status *daemon.Status
	// absence says why no replica leads; empty if one does, or it is not known.
	absence string
	// unread is why the status, or who leads, could not be read; nil if the user may not, too.
	unread error
	// isHasty: there was not the time to wait until the daemon has seen the ConfigMap.
	isHasty bool
}

const (
	// forcePeriod is how often to look whether a changed configuration is in force, and forceWait for how long: a daemon says it within a second or two.
	forcePeriod = 500 * time.Millisecond
	forceWait   = 4 * time.Second
)

// readView reads the ConfigMap with that namespace/name, and what belongs to it. If the ConfigMap cannot be read, the error says
// whether the API server is the wrong one. Of one that was deleted, the mistake does, if there is a replica that leads and has its own.
func readView(ctx context.Context, client kubernetes.Interface, configMap string) (*view, error) {
	name, err := parseConfigMap(configMap)
	if err != nil {
		return nil, err
	}
	v := &view{}
	read, err := client.CoreV1().ConfigMaps(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		v.take(read, configMap)
	case apierrors.IsNotFound(err):
		err = blameServer(ctx, client, fmt.Errorf("cannot read the daemon's configuration: %w", err))
		if errors.Is(err, errNotKarmada) {
			return nil, err
		}
		v.mistake = fmt.Errorf("%w\n  is karmada-mirror installed (karmada-mirror check)? If its ConfigMap has another name, give --config-map", err)
	default:
		return nil, blameServer(ctx, client, fmt.Errorf("cannot read the daemon's configuration: %w", err))
	}
	v.readStatus(ctx, client, name)
	if err != nil && v.status == nil {
		return nil, v.mistake
	}
	return v, nil
}

// take takes over what a ConfigMap has.
func (v *view) take(c *corev1.ConfigMap, name string) {
	v.parts = config.PartsOf(c.Data)
	for key := range c.Data {
		if _, isPart := v.parts[key]; !isPart {
			v.ignored = append(v.ignored, key)
		}
	}
	v.approvals, _ = approvalsOn(c) // the daemon says what is wrong with the others
	if v.configuration, v.mistake = config.ParseConfigMap(c.Data); v.configuration != nil {
		v.configuration.Approvals = v.approvals
	}
	if v.mistake != nil {
		v.mistake = fmt.Errorf("ConfigMap %q: %w", name, v.mistake)
	}
}

// readStatus reads what the daemon says of itself, and whether it leads. Whatever of it cannot be read is not known. It waits for a
// moment for a configuration that is new.
func (v *view) readStatus(ctx context.Context, client kubernetes.Interface, configMap types.NamespacedName) {
	status, err := readStatus(ctx, client, configMap)
	if v.unread = err; status == nil || status.Lease == "" { // without one, nothing says whether the process still runs
		return
	}
	lease, err := parseConfigMap(status.Lease)
	if err != nil {
		return
	}
	leader, err := readLeader(ctx, client, lease)
	switch {
	case apierrors.IsForbidden(err):
	case err != nil:
		v.unread = err
		return
	case leader.absence != "":
		v.absence = leader.absence
		return
	case leader.identity != status.Leader: // the one that leads now has said nothing yet
		return
	}
	v.status = status
	if v.isSettled() {
		return
	}
	if v.isHasty = !hasTime(ctx, forceWait); v.isHasty {
		return
	}
	_ = wait.PollUntilContextTimeout(ctx, forcePeriod, forceWait, false, func(context.Context) (bool, error) { // with a context that lasts
		now, err := readStatus(ctx, client, configMap)
		if v.unread = err; now != nil && now.Leader == status.Leader {
			v.status = now
		}
		return v.isSettled(), nil
	})
}

// isSettled reports whether the daemon has said something of the ConfigMap as it is now.
func (v *view) isSettled() bool { return v.isInForce() || v.isRejected() }

// readStatus reads what a daemon says of itself; nil if there is nothing that the user may read, as of an older daemon.
func readStatus(ctx context.Context, client kubernetes.Interface, configMap types.NamespacedName) (*daemon.Status, error) {
	name := daemon.StatusName(configMap)
	read, err := client.CoreV1().ConfigMaps(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the status of the daemon: %w", err)
	}
	status, err := daemon.StatusOf(read)
	if err != nil || status == nil || status.Leader == "" { // another version wrote it, or no daemon
		return nil, nil
	}
	return status, nil
}

// inForce returns the configuration that the daemon uses, and what to tell about it: nothing, if it is the one in the ConfigMap. If it
// is not known, it is what can be read of the one in the ConfigMap: what the daemon watches, for certain, and not all that it says.
func (v *view) inForce() (inForce *config.Configuration, told string, isKnown bool) {
	switch {
	case v.mistake == nil && (v.status == nil || v.isInForce()):
		return v.configuration, "", true
	case v.status == nil:
		keeps := "The daemon keeps the configuration that it had before. This command does not know it. "
		if v.absence != "" {
			keeps = "A replica that starts does not lead before there is a configuration without mistakes. "
		}
		return v.configuration, v.mistake.Error() + "\n  " + keeps + correctIt, false
	case v.isInForce():
		return v.configuration, v.mistake.Error() + "\n  The daemon, " + v.status.Version + ", has it in force, and is newer than this command.", false
	}
	if v.mistake == nil && !v.isRejected() { // the daemon may follow it, and not be able to say so
		if v.isHasty {
			return v.configuration, "", true
		}
		return v.configuration, v.notInForce() + " This command goes by the ConfigMap.", true
	}
	parts := v.status.Configuration.Parts
	inForce, err := parts.Parse()
	if err != nil || len(parts) == 0 || !v.isRejected() { // it is newer than this command, or too long, or the status is old
		return v.configuration, v.notInForce() + " This command does not know it.", false
	}
	inForce.Approvals = v.approvals
	return inForce, v.notInForce() + " This command uses it, too.", true
}

func (v *view) isInForce() bool { return v.status.Configuration.Hash == daemon.HashOf(v.parts) }

func (v *view) isRejected() bool {
	return v.status.Rejected != nil && v.status.Rejected.Hash == daemon.HashOf(v.parts)
}

// notInForce says why what the ConfigMap has is not in force.
func (v *view) notInForce() string {
	stays := fmt.Sprintf("\n  The configuration of %s stays in force. %s", stamp(v.status.Configuration.Since), correctIt)
	switch {
	case !v.isRejected():
		return fmt.Sprintf("the daemon does not say that it has put its ConfigMap into force as it is now\n  It last said so at %s. See its log.", stamp(v.status.Configuration.Since))
	case v.mistake != nil:
		return v.mistake.Error() + stays
	}
	return fmt.Sprintf("the daemon, %s, rejects its configuration: %s%s", v.status.Version, v.status.Rejected.Message, stays)
}

func (v *view) withoutLeader() string {
	return "no replica of karmada-mirror leads, so nothing is written: " + v.absence + ". See karmada-mirror check."
}

const correctIt = "Correct it: karmada-mirror validate -f FILE."

func stamp(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }

// leader is the replica that leads, or why none does.
type leader struct {
	lease             *coordinationv1.Lease // nil if it is missing
	identity, absence string
}

// readLeader reads a Lease.
func readLeader(ctx context.Context, client kubernetes.Interface, name types.NamespacedName) (leader, error) {
	lease, err := client.CoordinationV1().Leases(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return leader{absence: fmt.Sprintf("Lease %s is missing", name)}, nil
	}
	if err != nil {
		return leader{}, fmt.Errorf("cannot read the Lease: %w", err)
	}
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return leader{lease: lease, absence: "the last leader has released the Lease"}, nil
	}
	l := leader{lease: lease, identity: *spec.HolderIdentity}
	since, lasts := time.Since(spec.RenewTime.Time).Round(time.Second), time.Duration(*spec.LeaseDurationSeconds)*time.Second
	if since.Abs() <= lasts { // or the clock here is a little behind
		return l, nil
	}
	switch isRenewed, isKnown := isRenewed(ctx, client, lease); {
	case isRenewed || !isKnown:
	case since > 0:
		l.absence = fmt.Sprintf("%s last renewed the Lease %s ago, by the clock here", l.identity, since)
	default:
		l.absence = fmt.Sprintf("%s has not renewed the Lease for %s", l.identity, renewWait)
	}
	return l, nil
}

const (
	// renewWait is longer than a leader waits before it renews its Lease, and renewPeriod how often to look whether it has.
	renewWait   = 5 * time.Second
	renewPeriod = 500 * time.Millisecond
)

// isRenewed reports whether a leader renews its Lease: its clock may differ from the one here. That is not known if there is not the time
// to find out.
func isRenewed(ctx context.Context, client kubernetes.Interface, lease *coordinationv1.Lease) (isRenewed, isKnown bool) {
	if !hasTime(ctx, renewWait) {
		return false, false
	}
	err := wait.PollUntilContextTimeout(ctx, renewPeriod, renewWait, false, func(ctx context.Context) (bool, error) {
		now, err := client.CoordinationV1().Leases(lease.Namespace).Get(ctx, lease.Name, metav1.GetOptions{})
		return err == nil && !now.Spec.RenewTime.Equal(lease.Spec.RenewTime), nil
	})
	return err == nil, ctx.Err() == nil
}

// hasTime reports whether there is the time to find something out about the daemon: it must not take that of what the command is for.
func hasTime(ctx context.Context, longest time.Duration) bool {
	deadline, isLimited := ctx.Deadline()
	return !isLimited || time.Until(deadline) > 4*longest
}
