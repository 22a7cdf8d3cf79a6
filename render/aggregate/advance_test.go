package aggregate

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestAdvanceOf(t *testing.T) {
	deployment, daemonSet := schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "DaemonSet"}
	rollout := schema.GroupKind{Group: "argoproj.io", Kind: "Rollout"}
	certificate := schema.GroupKind{Group: "cert-manager.io", Kind: "Certificate"}
	type status = map[string]any
	condition := func(of, is string) []any {
		return []any{status{"type": "Other", "status": "True"}, status{"type": of, "status": is}}
	}
	done := func(changes status) status {
		s := status{
			"generation": int64(7), "observedGeneration": int64(7), "resourceTemplateGeneration": int64(3),
			"replicas": int64(2), "updatedReplicas": int64(2), "readyReplicas": int64(2), "availableReplicas": int64(2),
		}
		for key, value := range changes {
			s[key] = value
		}
		return s
	}
	type advance struct {
		kind       schema.GroupKind
		status     status
		generation int64
		want       Advance
		lacks      string
		replicas   int64
	}
	for name, c := range map[string]advance{
		"Done":         {deployment, done(nil), 3, RolledOut, "", 0},
		"Newer":        {deployment, done(nil), 2, Behind, "this generation has not been observed", 0}, // that of an earlier object
		"Unsaid":       {deployment, done(nil), 0, RolledOut, "", 0},
		"Older":        {deployment, done(nil), 4, Behind, "this generation has not been observed", 0},
		"Unobserved":   {deployment, done(status{"observedGeneration": int64(6)}), 3, Behind, "this generation has not been observed", 0},
		"Updating":     {deployment, done(status{"updatedReplicas": int64(1)}), 3, Behind, "updatedReplicas 1 of 2", 0},
		"OldPodsLeft":  {deployment, done(status{"replicas": int64(3), "readyReplicas": int64(3), "availableReplicas": int64(3)}), 3, Behind, "updatedReplicas 2 of 3", 0},
		"Unavailable":  {deployment, done(status{"unavailableReplicas": int64(1)}), 3, Behind, "unavailableReplicas 1", 0},
		"NotReady":     {deployment, done(status{"readyReplicas": int64(1)}), 3, Behind, "readyReplicas 1 of 2", 0},
		"Fewer":        {deployment, done(nil), 3, Behind, "replicas 2 of 3", 3}, // the member keeps its own, or has none yet
		"More":         {deployment, done(nil), 3, RolledOut, "", 1},
		"None":         {deployment, status{"generation": int64(1), "observedGeneration": int64(1), "resourceTemplateGeneration": int64(1)}, 1, RolledOut, "", 0},
		"Nothing":      {deployment, nil, 0, Behind, "no status", 0},
		"NoGeneration": {deployment, status{"replicas": int64(2)}, 1, Behind, "this generation has not been observed", 0},
		"DaemonSet": {daemonSet, status{
			"resourceTemplateGeneration": int64(1), "desiredNumberScheduled": int64(2), "updatedNumberScheduled": int64(2), "numberReady": int64(2), "numberAvailable": int64(2),
		}, 1, RolledOut, "", 0},
		"DaemonSetUpdates": {daemonSet, status{
			"resourceTemplateGeneration": int64(1), "desiredNumberScheduled": int64(2), "updatedNumberScheduled": int64(1), "numberReady": int64(2), "numberAvailable": int64(2),
		}, 1, Behind, "updatedNumberScheduled 1 of 2", 0},
		"Custom":         {rollout, status{"resourceTemplateGeneration": int64(2), "observedGeneration": int64(1), "generation": int64(1)}, 2, RolledOut, "", 0},
		"CustomOlder":    {rollout, status{"resourceTemplateGeneration": int64(2)}, 3, Behind, "this generation has not been observed", 0},
		"CustomUntold":   {rollout, status{"phase": "Ready"}, 3, Untold, "", 0},
		"CustomNotReady": {certificate, status{"conditions": condition("Ready", "False")}, 3, Behind, "the condition Ready is False", 0},
		"CustomUnknown":  {certificate, status{"conditions": condition("Ready", "Unknown")}, 3, Behind, "the condition Ready is Unknown", 0},
		"CustomReady":    {certificate, status{"conditions": condition("Ready", "True")}, 3, Untold, "", 0},
		"CustomStalled":  {certificate, status{"conditions": condition("Stalled", "True")}, 3, Behind, "the condition Stalled is True", 0},
		"CustomToldNot":  {rollout, status{"resourceTemplateGeneration": int64(3), "conditions": condition("Ready", "False")}, 3, Behind, "the condition Ready is False", 0},
		"PodSucceeded":   {schema.GroupKind{Kind: "Pod"}, status{"phase": "Succeeded", "conditions": condition("Ready", "False")}, 3, Untold, "", 0},
		"Job":            {jobKind, jobWith(""), 3, Behind, "it has not ended", 0},
		"JobComplete":    {jobKind, jobWith("Complete"), 3, Untold, "", 0},
		"JobSuspended":   {jobKind, jobWith("Suspended"), 3, Untold, "", 0},
		"JobFailed":      {jobKind, jobWith("Failed"), 3, Behind, "it has failed", 0},
		"ConfigMap":      {schema.GroupKind{Kind: "ConfigMap"}, nil, 3, Untold, "", 0},
	} {
		if got, lacks := AdvanceOf(c.kind, c.status, c.generation, c.replicas); got != c.want || lacks != c.lacks {
			t.Errorf("%s: %d %q, not %d %q", name, got, lacks, c.want, c.lacks)
		}
	}
}

// jobWith is the status of a Job with a condition.
func jobWith(condition string) map[string]any {
	return map[string]any{"conditions": []any{map[string]any{"type": "Other", "status": "True"}, map[string]any{"type": condition, "status": "True"}}}
}
