package aggregate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// phases are those of Pods, the decisive first. Unknown and phases of later versions decide
// nothing.
var phases = []corev1.PodPhase{corev1.PodFailed, corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded}

// pod lists the containers of all members. Without a member, the status stays.
func pod(s *summary) error {
	reports, err := read[corev1.PodStatus](s.members)
	if err != nil || len(reports) == 0 {
		return err
	}
	total := &corev1.PodStatus{}
	reported := map[corev1.PodPhase]bool{}
	for _, r := range reports {
		if r == nil {
			r = &corev1.PodStatus{Phase: corev1.PodPending}
		}
		reported[r.Phase] = true
		total.ContainerStatuses = append(total.ContainerStatuses, statesOf(r.ContainerStatuses)...)
		total.InitContainerStatuses = append(total.InitContainerStatuses, statesOf(r.InitContainerStatuses)...)
	}
	if i := slices.IndexFunc(phases, func(phase corev1.PodPhase) bool { return reported[phase] }); i >= 0 {
		total.Phase = phases[i]
	}
	return s.set(total, "phase", "containerStatuses", "initContainerStatuses")
}

// statesOf drops what would be different in each member, such as the names of images, as Karmada
// does.
func statesOf(containers []corev1.ContainerStatus) (states []corev1.ContainerStatus) {
	for _, c := range containers {
		states = append(states, corev1.ContainerStatus{Ready: c.Ready, State: c.State})
	}
	return states
}

// claim is Bound if it is so in every member. Karmada overlooks members that have reported
// nothing, so that it says Bound before the first has.
func claim(s *summary) error {
	reports, err := read[corev1.PersistentVolumeClaimStatus](s.members)
	if err != nil || len(reports) == 0 {
		return err
	}
	total := &corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}
	for _, r := range reports {
		phase := corev1.ClaimPending
		if r != nil && r.Phase != "" {
			phase = r.Phase
		}
		if phase != corev1.ClaimBound && total.Phase != corev1.ClaimLost {
			total.Phase = phase
		}
	}
	return s.set(total, "phase")
}
