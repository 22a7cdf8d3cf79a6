package aggregate

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
)

func statefulSet(s *summary) error {
	_, err := setSum(s, func(status *appsv1.StatefulSetStatus) []count {
		return []count{
			{"replicas", &status.Replicas},
			{"readyReplicas", &status.ReadyReplicas},
			{"currentReplicas", &status.CurrentReplicas},
			{"updatedReplicas", &status.UpdatedReplicas},
			{"availableReplicas", &status.AvailableReplicas},
		}
	})
	if err != nil {
		return err
	}
	return s.setObserved(Member.hasObservedUnlessOmitted)
}

func daemonSet(s *summary) error {
	_, err := setSum(s, func(status *appsv1.DaemonSetStatus) []count {
		return []count{
			{"currentNumberScheduled", &status.CurrentNumberScheduled},
			{"desiredNumberScheduled", &status.DesiredNumberScheduled},
			{"numberAvailable", &status.NumberAvailable},
			{"numberMisscheduled", &status.NumberMisscheduled},
			{"numberReady", &status.NumberReady},
			{"updatedNumberScheduled", &status.UpdatedNumberScheduled},
			{"numberUnavailable", &status.NumberUnavailable},
		}
	})
	if err != nil {
		return err
	}
	return s.setObserved(Member.hasObserved)
}

func replicaSet(s *summary) error {
	_, err := setSum(s, func(status *appsv1.ReplicaSetStatus) []count {
		return []count{
			{"replicas", &status.Replicas},
			{"readyReplicas", &status.ReadyReplicas},
			{"availableReplicas", &status.AvailableReplicas},
		}
	})
	if err != nil {
		return err
	}
	return s.setObserved(Member.hasObserved)
}

// generations is what Karmada adds to the status of a workload (FederatedGeneration in
// pkg/resourceinterpreter/default/native/status_type.go, v1.18.2), with that of the status.
type generations struct {
	// Generation is that of the member's object.
	Generation int64 `json:"generation"`
	// ResourceTemplateGeneration is that of the source of which the member's object was made.
	ResourceTemplateGeneration int64 `json:"resourceTemplateGeneration"`
	// ObservedGeneration is the last Generation that the member's controller has seen.
	ObservedGeneration int64 `json:"observedGeneration"`
	// Replicas, UpdatedReplicas and ReadyReplicas are Kubernetes'.
	Replicas        int64 `json:"replicas"`
	UpdatedReplicas int64 `json:"updatedReplicas"`
	ReadyReplicas   int64 `json:"readyReplicas"`
}

// setObserved sets observedGeneration once every member has observed the content that it should
// have.
func (s *summary) setObserved(rule func(Member, *generations) bool) error {
	reports, err := read[generations](s.members)
	if err != nil {
		return err
	}
	hasObserved := make([]bool, len(s.members))
	for i, m := range s.members {
		hasObserved[i] = rule(m, reports[i])
	}
	s.claimObserved(hasObserved)
	return nil
}

// claimObserved sets observedGeneration if all members have observed. Otherwise it stays, and so
// it does if there is no member, which is enough for Karmada.
func (s *summary) claimObserved(hasObserved []bool) {
	generation := s.source.GetGeneration()
	if len(hasObserved) > 0 && generation > 0 && !slices.Contains(hasObserved, false) {
		s.status["observedGeneration"] = generation
	}
}

// hasContent reports whether a member's object was made of what it should be made of. The
// condition Applied of a Work may be older than its content, so Settled alone does not tell.
// Karmada compares with the generation of the source; but a Work is not rewritten for a
// generation that changes nothing in it. A greater one is that of an earlier object of the name.
func (m Member) hasContent(report *generations) bool {
	return report != nil && m.Settled && m.isOf(report.ResourceTemplateGeneration)
}

// isOf reports whether a generation that is reported is the one that the Work has, if it says which.
func (m Member) isOf(reported int64) bool { return m.Generation == 0 || reported == m.Generation }

// hasObserved reports whether a member's controller has seen its object.
func (m Member) hasObserved(report *generations) bool {
	return m.hasContent(report) && report.ObservedGeneration >= report.Generation
}

// hasObservedUnlessOmitted is for StatefulSets. Karmada leaves observedGeneration out of what
// members report (reflectStatefulSetStatus in reflectstatus.go, v1.18.2), and so never sets it in
// the sum. (Nor does it compare resourceTemplateGeneration with the source, but with the
// generation in the member, which has nothing to do with it.) Without it, Karmada's health tells: what has as many new and ready
// Pods as it has is unhealthy only until its controller has observed it, or has made the Pods that it lacks, or all are available
// (interpretStatefulSetHealth in healthy.go). One with a partition is always unhealthy, and has fewer new Pods than it has.
func (m Member) hasObservedUnlessOmitted(report *generations) bool {
	if !m.hasContent(report) || report.ObservedGeneration != 0 {
		return m.hasObserved(report)
	}
	return !m.Unhealthy || report.UpdatedReplicas != report.Replicas || report.ReadyReplicas != report.Replicas || report.Replicas == 0
}

// IsUpToDate reports whether what a member reports, and so its health, is about the content that it
// should have, as far as the report tells. Karmada adds the generations to the statuses of
// workloads, and of the kinds of others that it knows. What tells nothing is believed of a settled
// Work.
func (m Member) IsUpToDate() bool {
	reports, err := read[generations]([]Member{m})
	if err != nil || reports[0] == nil || reports[0].ResourceTemplateGeneration == 0 {
		return m.Settled
	}
	return m.hasObservedUnlessOmitted(reports[0])
}
