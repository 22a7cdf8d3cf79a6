package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
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
	// configuration is what can be used of the ConfigMap, and mistake why that is not all of it. It is nil if that is nothing.
	configuration *config.Configuration
	mistake       error
	// status is nil if it cannot be read.
	status *daemon.Status
	// absence says why no replica leads; empty if one does, or it is not known.
	absence string
}

// readView reads the ConfigMap with that namespace/name, and what belongs to it. If the ConfigMap cannot be read, the error says
// whether the API server is the wrong one.
func readView(ctx context.Context, client kubernetes.Interface, configMap string) (*view, error) {
	name, err := parseConfigMap(configMap)
	if err != nil {
		return nil, err
	}
	read, err := client.CoreV1().ConfigMaps(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if err != nil {
		err = blameServer(ctx, client, fmt.Errorf("cannot read the daemon's configuration: %w", err))
		if apierrors.IsNotFound(err) && !errors.Is(err, errNotKarmada) {
			err = fmt.Errorf("%w\n  is karmada-mirror installed (karmada-mirror check)? If its ConfigMap has another name, give --config-map", err)
		}
		return nil, err
	}
	v := &view{parts: config.PartsOf(read.Data)}
	v.configuration, v.mistake = config.ParseConfigMap(read.Data)
	if v.configuration != nil {
		v.configuration.Approvals, _ = approvalsOn(read) // the daemon says what is wrong with the others
	}
	if v.mistake != nil {
		v.mistake = fmt.Errorf("ConfigMap %q: %w", configMap, v.mistake)
	}
	if v.status, err = readStatus(ctx, client, name); err != nil || v.status == nil || v.status.Lease == "" {
		return v, err
	}
	lease, err := parseConfigMap(v.status.Lease)
	if err != nil {
		return v, nil // only the daemon writes it
	}
	leader, err := readLeader(ctx, client, lease)
	if apierrors.IsForbidden(err) {
		err = nil
	}
	v.absence = leader.absence
	return v, err
}

// readStatus reads what a daemon says of itself; nil if there is nothing that the user may read.
func readStatus(ctx context.Context, client kubernetes.Interface, configMap types.NamespacedName) (*daemon.Status, error) {
	name := daemon.StatusName(configMap)
	read, err := client.CoreV1().ConfigMaps(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err): // an older daemon, or rights for one
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read the daemon's status: %w", err)
	}
	status, _ := daemon.StatusOf(read) // what only a daemon writes can be decoded, or another version wrote it
	return status, nil
}

// inForce returns the configuration that the daemon uses, and what to tell about it: nothing, if it is the one in the ConfigMap. If
// it is not known, the error is the mistake in that.
func (v *view) inForce() (inForce *config.Configuration, told string, err error) {
	if v.status == nil || v.absence != "" || v.isInForce() {
		return v.configuration, "", v.mistake
	}
	if inForce, err = v.status.Configuration.Parts.Parse(); err != nil || v.status.Configuration.Parts == nil { // too long, or newer than this command
		return v.configuration, v.notInForce(), v.mistake
	}
	if v.configuration != nil {
		inForce.Approvals = v.configuration.Approvals
	}
	return inForce, v.notInForce(), nil
}

func (v *view) isInForce() bool { return v.status.Configuration.Hash == daemon.HashOf(v.parts) }

// notInForce says why what the ConfigMap has is not in force.
func (v *view) notInForce() string {
	why := "the daemon has not put the ConfigMap of its configuration into force as it is now"
	switch rejected := v.status.Rejected; {
	case v.mistake != nil:
		why = v.mistake.Error()
	case rejected != nil && rejected.Hash == daemon.HashOf(v.parts):
		why = fmt.Sprintf("the daemon, %s, rejects its configuration: %s", v.status.Version, rejected.Message)
	}
	return why + fmt.Sprintf("\n  The configuration of %s stays in force, and is used here. ", stamp(v.status.Configuration.Since)) + correctIt
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
	since := time.Since(spec.RenewTime.Time).Round(time.Second)
	if isOld := since > time.Duration(*spec.LeaseDurationSeconds)*time.Second; (isOld || since < 0) && !isRenewed(ctx, client, lease) {
		l.absence = fmt.Sprintf("%s last renewed the Lease %s ago, by the clock here", l.identity, since)
	}
	return l, nil
}

const (
	// renewWait is longer than a leader waits before it renews its Lease, and renewPeriod how often to look whether it has.
	renewWait   = 5 * time.Second
	renewPeriod = 500 * time.Millisecond
)

// isRenewed reports whether a leader renews its Lease: its clock may differ from the one here.
func isRenewed(ctx context.Context, client kubernetes.Interface, lease *coordinationv1.Lease) bool {
	return nil == wait.PollUntilContextTimeout(ctx, renewPeriod, renewWait, false, func(ctx context.Context) (bool, error) {
		now, err := client.CoordinationV1().Leases(lease.Namespace).Get(ctx, lease.Name, metav1.GetOptions{})
		return err == nil && !now.Spec.RenewTime.Equal(lease.Spec.RenewTime), nil
	})
}
