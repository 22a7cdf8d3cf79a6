package aggregate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func deployment(s *summary) error {
	reports, err := setSum(s, func(status *appsv1.DeploymentStatus) []count {
		return []count{
			{"replicas", &status.Replicas},
			{"readyReplicas", &status.ReadyReplicas},
			{"updatedReplicas", &status.UpdatedReplicas},
			{"availableReplicas", &status.AvailableReplicas},
			{"unavailableReplicas", &status.UnavailableReplicas},
		}
	})
	if err != nil {
		return err
	}
	hasObserved, err := observers(s.members, reports)
	if err != nil {
		return err
	}
	s.claimObserved(hasObserved)
	wanted, err := s.wantedReplicas()
	if err != nil {
		return err
	}
	return s.setRollout(newRollout(s.members, reports, hasObserved, wanted))
}

// observers reports which members' controllers act on what they should have.
//
// A member that has fewer Pods than it wants has not: their number is available and unavailable
// replicas together. So is the first status of a new Deployment, which has an observedGeneration
// and no Pods, and so it stays if a quota forbids Pods. With such a member, the sum would be
// healthy by all that Argo CD compares as soon as the others have enough replicas.
func observers(members []Member, reports []*appsv1.DeploymentStatus) ([]bool, error) {
	observed, err := read[generations](members)
	if err != nil {
		return nil, err
	}
	hasObserved := make([]bool, len(members))
	for i, m := range members {
		r := reports[i]
		hasObserved[i] = m.hasObserved(observed[i]) && int64(r.Replicas) >= int64(r.AvailableReplicas)+int64(r.UnavailableReplicas)
	}
	return hasObserved, nil
}

// wantedReplicas returns spec.replicas of the source; 0 if a member chooses how many it has.
func (s *summary) wantedReplicas() (int64, error) {
	if slices.ContainsFunc(s.members, func(m Member) bool { return m.ChoosesReplicas }) {
		return 0, nil
	}
	spec, ok := s.source.Object["spec"].(map[string]any)
	if !ok && s.source.Object["spec"] != nil {
		return 0, errors.New("cannot read the spec of the source: it is not an object")
	}
	switch replicas := spec["replicas"].(type) {
	case nil:
		return 1, nil // by SetDefaults_Deployment in pkg/apis/apps/v1 of Kubernetes, v1.35.4
	case int64:
		return replicas, nil
	default:
		return 0, errors.New("cannot read the spec.replicas of the source: it is not a whole number")
	}
}

// rollout is how far a Deployment has come.
type rollout struct {
	// isAvailable means that no replica is missing in any member. Kubernetes asks for fewer, by
	// maxUnavailable; but no member reports how many it wants.
	isAvailable bool
	// pending is why the rollout is not complete; empty if it is.
	pending string
}

func newRollout(members []Member, reports []*appsv1.DeploymentStatus, hasObserved []bool, wanted int64) rollout {
	var updated, available int64
	var waitsFor []string
	isAvailable := len(members) > 0
	for i, m := range members {
		r := reports[i]
		if r == nil || !hasObserved[i] || !isRolledOut(r) {
			waitsFor = append(waitsFor, m.Cluster)
		}
		if r == nil || r.UnavailableReplicas > 0 {
			isAvailable = false
		}
		if r != nil {
			updated, available = updated+int64(r.UpdatedReplicas), available+int64(r.AvailableReplicas)
		}
	}
	result := rollout{isAvailable: isAvailable && available >= wanted}
	switch {
	case len(members) == 0:
		result.pending = "No cluster to roll out to"
	case len(waitsFor) > 0:
		result.pending = fmt.Sprintf("Waiting for %d of %d clusters: %s", len(waitsFor), len(members), SomeOf(waitsFor))
	case updated < wanted || available < wanted:
		result.pending = fmt.Sprintf("The clusters have fewer replicas than %d", wanted)
	}
	return result
}

// isRolledOut reports whether a member has no replicas but new ones, all of which can be used.
func isRolledOut(r *appsv1.DeploymentStatus) bool {
	return r.UpdatedReplicas == r.Replicas && r.ReadyReplicas == r.Replicas && r.AvailableReplicas == r.Replicas && r.UnavailableReplicas == 0
}

// maxListed is how many things a message names.
const maxListed = 5

// SomeOf names the first of some things, and counts the others.
func SomeOf(things []string) string {
	if others := len(things) - maxListed; others > 0 {
		return fmt.Sprintf("%s and %d others", strings.Join(things[:maxListed], ", "), others)
	}
	return strings.Join(things, ", ")
}

// setRollout sets the conditions that kstatus asks for, with the reasons that the controller for
// Deployments gives (pkg/controller/deployment/util/deployment_util.go of Kubernetes, v1.35.4).
// Karmada sets none. A rollout never counts as failed: members do not report whether they have
// missed the deadline.
func (s *summary) setRollout(r rollout) error {
	available := condition{string(appsv1.DeploymentAvailable), corev1.ConditionFalse, "MinimumReplicasUnavailable", "Replicas are missing in some clusters"}
	if r.isAvailable {
		available = condition{string(appsv1.DeploymentAvailable), corev1.ConditionTrue, "MinimumReplicasAvailable", "All replicas are available in all clusters"}
	}
	progressing := condition{string(appsv1.DeploymentProgressing), corev1.ConditionTrue, "ReplicaSetUpdated", r.pending}
	if r.pending == "" {
		progressing = condition{string(appsv1.DeploymentProgressing), corev1.ConditionTrue, "NewReplicaSetAvailable", "All clusters have rolled out"}
	}
	for _, c := range []condition{available, progressing} {
		if err := s.setCondition(c, "lastUpdateTime"); err != nil {
			return err
		}
	}
	return nil
}
