package aggregate

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// disruptionBudget names disrupted Pods by cluster, as Karmada does.
func disruptionBudget(s *summary) error {
	reports, err := setSum(s, func(status *policyv1.PodDisruptionBudgetStatus) []count {
		return []count{
			{"disruptionsAllowed", &status.DisruptionsAllowed},
			{"currentHealthy", &status.CurrentHealthy},
			{"desiredHealthy", &status.DesiredHealthy},
			{"expectedPods", &status.ExpectedPods},
		}
	})
	if err != nil {
		return err
	}
	total := &policyv1.PodDisruptionBudgetStatus{DisruptedPods: map[string]metav1.Time{}}
	for i, r := range reports {
		if r == nil {
			continue
		}
		for name, since := range r.DisruptedPods {
			total.DisruptedPods[s.members[i].Cluster+"/"+name] = since
		}
	}
	return s.set(total, "disruptedPods")
}

func autoscaler(s *summary) error {
	_, err := setSum(s, func(status *autoscalingv2.HorizontalPodAutoscalerStatus) []count {
		return []count{{"currentReplicas", &status.CurrentReplicas}, {"desiredReplicas", &status.DesiredReplicas}}
	})
	return err
}
