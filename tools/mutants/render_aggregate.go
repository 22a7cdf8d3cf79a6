package main

// ofAggregate are mutants of what is summed up into the status of a source.
var ofAggregate = []mutant{
	{
		name: "unsettled-works-have-observed", file: "render/aggregate/workload.go",
		old:  `report != nil && m.Settled && m`,
		new:  `report != nil && m`,
		harm: "a GitOps tool calls a rollout finished before it has reached any member",
	},
	{
		name: "old-content-has-observed", file: "render/aggregate/workload.go",
		old:  `m.Generation == 0 || reported == m.Generation`,
		new:  `m.Generation == 0 || reported >= 0`,
		harm: "a GitOps tool calls a rollout finished while a member runs the version before",
	},
	{
		name: "members-need-not-observe", file: "render/aggregate/workload.go",
		old:  `m.hasContent(report) && report.ObservedGeneration >= report.Generation`,
		new:  `m.hasContent(report)`,
		harm: "a GitOps tool takes the counts of the version before for those of the new one",
	},
	{
		name: "one-member-observes-for-all", file: "render/aggregate/workload.go",
		old:  `!slices.Contains(hasObserved, false)`,
		new:  `slices.Contains(hasObserved, true)`,
		harm: "a GitOps tool calls a rollout finished when the first member has it",
	},
	{
		name: "no-members-have-observed", file: "render/aggregate/workload.go",
		old:  `if len(hasObserved) > 0 && generation > 0`,
		new:  `if generation > 0`,
		harm: "a GitOps tool calls a workload healthy that runs nowhere",
	},
	{
		name: "stateful-sets-never-observe", file: "render/aggregate/workload.go",
		old:  `(report.ObservedGeneration == 0 || report.ObservedGeneration >= report.Generation)`,
		new:  `report.ObservedGeneration >= report.Generation`,
		harm: "Argo CD waits for every StatefulSet forever",
	},
	{
		name: "members-with-too-few-pods-have-observed", file: "render/aggregate/deployment.go",
		old:  `int64(r.Replicas) >= int64(r.AvailableReplicas)+int64(r.UnavailableReplicas)`,
		new:  `r.Replicas >= r.AvailableReplicas`,
		harm: "Argo CD calls a Deployment healthy although a quota forbids its Pods in a member",
	},
	{
		name: "rollouts-end-before-pods-are-available", file: "render/aggregate/deployment.go",
		old:  `r.AvailableReplicas == r.Replicas && r.UnavailableReplicas == 0`,
		new:  `r.ReadyReplicas == r.Replicas`,
		harm: "kstatus calls a rollout finished before its Pods are available",
	},
	{
		name: "too-few-replicas-are-enough", file: "render/aggregate/deployment.go",
		old:  `case updated < wanted || available < wanted:`,
		new:  `case updated < 0:`,
		harm: "a condition says that all has rolled out while replicas are missing",
	},
	{
		name: "conditions-always-change", file: "render/aggregate/condition.go",
		old: `		return current
	}
	if since`,
		new: `		return next
	}
	if since`,
		harm: "each look at a Deployment writes its status, forever",
	},
	{
		name: "other-conditions-go", file: "render/aggregate/condition.go",
		old:  `all = append(all, current)`,
		new:  `all = all[:len(all):len(all)]`,
		harm: "another controller's condition is lost, and the two write in turns",
	},
	{
		name: "finished-jobs-change", file: "render/aggregate/job.go",
		old:  `if err != nil || isFinished {`,
		new:  `if err != nil || isFinished && s == nil {`,
		harm: "a finished Job seems to run again, and each write is refused",
	},
	{
		name: "earlier-jobs-count", file: "render/aggregate/job.go",
		old:  `		if !m.Settled {`,
		new:  `		if m.Cluster == "" {`,
		harm: "a new Job is complete for good because an earlier one of its name was",
	},
	{
		name: "jobs-fail-while-pods-run", file: "render/aggregate/job.go",
		old:  `mayFinish := total.Active == 0 && !p.runsUnsettled && hasStarted`,
		new:  `mayFinish := !p.runsUnsettled && hasStarted`,
		harm: "the API server refuses the status of a Job that has failed in one member",
	},
	{
		name: "jobs-fail-while-other-pods-run", file: "render/aggregate/job.go",
		old:  `mayFinish := total.Active == 0 && !p.runsUnsettled && hasStarted`,
		new:  `mayFinish := total.Active == 0 && hasStarted`,
		harm: "a Job that has failed is deleted, and with it Pods that run in another member",
	},
	{
		name: "counters-fall", file: "render/aggregate/job.go",
		old:  `if current > int64(*c.value) &&`,
		new:  `if current < 0 &&`,
		harm: "the API server refuses every further status of a Job that has lost a target",
	},
	{
		name: "jobs-complete-with-the-first-member", file: "render/aggregate/job.go",
		old: `		default:
			p.allComplete = false`,
		new: `		default:
			p.allComplete = p.allComplete && i > 0`,
		harm: "a Job is complete while a member still works on it",
	},
	{
		name: "addresses-lack-their-mode", file: "render/aggregate/balancer.go",
		old:  `case address.IP != "" && address.IPMode == nil:`,
		new:  `case address.IP == "" && address.Hostname == "":`,
		harm: "each look at a Service writes its status, since the API server adds the mode",
	},
	{
		name: "sums-overflow", file: "render/aggregate/report.go",
		old:  `int32(min(int64(*sums[j].value)+int64(*c.value), math.MaxInt32))`,
		new:  `min(*sums[j].value+*c.value, math.MaxInt32)`,
		harm: "the API server refuses a negative sum",
	},
	{
		name: "negative-counts-are-summed-up", file: "render/aggregate/report.go",
		old:  `if *c.value < 0 {`,
		new:  `if *c.value < math.MinInt32/2 {`,
		harm: "one member hides the replicas of another, or the API server refuses the sum",
	},
	{
		name: "unreported-claims-are-bound", file: "render/aggregate/phase.go",
		old:  `phase := corev1.ClaimPending`,
		new:  `phase := corev1.ClaimBound`,
		harm: "a claim is said to be bound in a cluster that it has not reached",
	},
	{
		name: "members-keep-their-order", file: "render/aggregate/aggregate.go",
		old:  `return cmp.Compare(a.Cluster, b.Cluster)`,
		new:  `return cmp.Compare(0, 0*len(a.Cluster+b.Cluster))`,
		harm: "the status is written again and again, since the members come from a map",
	},
	{
		name: "sources-are-changed-in-the-cache", file: "render/aggregate/aggregate.go",
		old:  `return runtime.DeepCopyJSON(status), nil`,
		new:  `return map[string]any(status), nil`,
		harm: "the daemon sees its own status in its cache, and never writes it",
	},
}
