package main

// ofStatus are mutants of what decides when a status is written, and from whose reports.
var ofStatus = []mutant{
	{
		name: "times-that-go-on-are-contested", file: "mirror/write/statuses.go",
		old:  `return w.content == content && w.left != string(now.Status)`,
		new:  `return w.content == content`,
		harm: "a status with a heartbeat stands still for an hour",
	},
	{
		name: "belief-does-not-last", file: "mirror/status.go",
		old: `	s.caches.Believe(j.Believed(reports, s.Clock.Now()))
`,
		new:  ``,
		harm: "the replicas of a recreated source vanish from its status when its Work is written",
	},
	{
		name: "no-look-when-a-member-returns", file: "mirror/cluster.go",
		old:  `c.enqueueStatus(w.Source) // what`,
		new:  `c.enqueueStatus(render.Identity{Name: w.Name}) // what`,
		harm: "the status of a source that was recreated while its member was away stays empty",
	},
	{
		name: "statuses-that-panic", file: "mirror/status.go",
		old: `	defer state.Catch(&err)
`,
		new:  ``,
		harm: "one status that cannot be summed up ends every leader, and nothing is mirrored any more",
	},
	{
		name: "failed-works-count-as-applied", file: "mirror/judge/status.go",
		old:  `(w.State == state.WorkApplied`,
		new:  `(w.State == state.WorkFailed || w.State == state.WorkApplied`,
		harm: "a rollout ends although a member refuses it",
	},
	{
		name: "outdated-works-have-the-content", file: "mirror/judge/status.go",
		old:  `operation == Update && j.Facts.Altered[cluster] == target.Digest()`,
		new:  `operation == Update`,
		harm: "a rollout ends before its Works are written",
	},
	{
		name: "suspended-members-hold-for-ever", file: "mirror/judge/status.go",
		old:  ` || w.State == state.WorkSuspended`,
		new:  ``,
		harm: "a rollout never ends because a member that has everything is suspended",
	},
	{
		name: "the-dead-report", file: "mirror/judge/status.go",
		old:  `if !report.Created.Before(source.Created) {`,
		new:  `if report.Created.Before(source.Created) {`,
		harm: "a Job that was recreated is complete before it starts, for good",
	},
	{
		name: "works-of-the-dead-report", file: "mirror/judge/status.go",
		old:  ` || !w.IsMadeFrom(source.UID)`,
		new:  ``,
		harm: "a recreated source gets the status of the one before",
	},
	{
		name: "strangers-report", file: "mirror/judge/status.go",
		old:  `w.Foreign != "" || `,
		new:  ``,
		harm: "the status of another owner's object is that of the source",
	},
	{
		name: "newer-versions-are-observed", file: "mirror/judge/status.go",
		old:  `r.Source.UID != j.Facts.Source.UID || r.Source.Version != j.Facts.Source.ResourceVersion`,
		new:  `r.Source.UID != j.Facts.Source.UID`,
		harm: "a generation counts as observed before it is in any Work",
	},
	{
		name: "absent-clusters-hold-for-ever", file: "mirror/judge/status.go",
		old:  ` && facts.State == ClusterJoined`,
		new:  ``,
		harm: "a rollout waits for a cluster that does not exist",
	},
	{
		name: "old-health-is-believed", file: "render/aggregate/workload.go",
		old:  `return m.hasObservedUnlessOmitted(reports[0])`,
		new:  `return m.Settled`,
		harm: "wait ends by the health of the content before the last change",
	},
	{
		name: "status-contests-never-end", file: "mirror/write/statuses.go",
		old:  `last.writes >= maxUndone && last.isUndone`,
		new:  `last.writes >= 1000*maxUndone && last.isUndone`,
		harm: "two writers change a status in turn, once a second, for ever",
	},
	{
		name: "statuses-do-not-wait", file: "mirror/write/statuses.go",
		old:  `case since < last.pause(now.Generation, progress):`,
		new:  `case since < 0:`,
		harm: "each change of a Pod in any member is a write to the control plane",
	},
	{
		name: "ends-of-rollouts-wait", file: "mirror/write/statuses.go",
		old:  `case next == aggregate.Complete || w.unfinished == 0`,
		new:  `case w.unfinished == 0`,
		harm: "`kubectl rollout status` waits although the rollout is complete",
	},
	{
		name: "echoes-are-overwritten", file: "mirror/write/statuses.go",
		old:  `state.IsOlder(now.Version, last.version) && since < AwaitCache`,
		new:  `state.IsOlder(now.Version, last.version) && since < 0`,
		harm: "the same status is written twice",
	},
	{
		name: "what-is-not-stored-is-contested", file: "mirror/write/statuses.go",
		old:  `next.asStored, next.writes = true, 0`,
		new:  `next.asStored = false`,
		harm: "a status with a field that the API server drops is frozen for an hour, every hour",
	},
	{
		name: "running-jobs-are-finished", file: "mirror/write/breaker.go",
		old:  `finished := !slices.ContainsFunc(works, func(w *state.Work) bool { return !w.IsFinished() })`,
		new:  `finished := slices.ContainsFunc(works, func(w *state.Work) bool { return w.IsFinished() })`,
		harm: "a mass deletion of Jobs that run in some members passes the breaker",
	},
	{
		name: "finished-jobs-dilute", file: "mirror/gather/lookup.go",
		old:  `!w.Terminating && !w.IsFinished() && `,
		new:  `!w.Terminating && `,
		harm: "a namespace full of finished Jobs lets a mass deletion of running ones pass the breaker",
	},
	{
		name: "earlier-jobs-are-believed-later", file: "mirror/judge/status.go",
		old:  ` && aggregate.EndedBefore(report.Status, source.Created)`,
		new:  ` && aggregate.EndedBefore(nil, source.Created)`,
		harm: "a Job that was recreated is complete before it has run, for good",
	},
	{
		name: "members-that-are-away-have-reported", file: "mirror/judge/status.go",
		old:  `return w.State == state.WorkApplied && !j`,
		new:  `return w.State != state.WorkFailed || !j`,
		harm: "a rollout ends although its member has not been reached, or is suspended",
	},
	{
		name: "the-same-is-never-reported-anew", file: "mirror/judge/status.go",
		old:  `now.Sub(w.Written()) >= trustAfter`,
		new:  `false`,
		harm: "a source that is recreated as it was never has a status",
	},
	{
		name: "greater-generations-are-newer", file: "render/aggregate/workload.go",
		old:  `reported == m.Generation }`,
		new:  `reported >= m.Generation }`,
		harm: "a rollout of a recreated Deployment ends before it begins",
	},
	{
		name: "every-time-is-new-content", file: "mirror/status.go",
		old:  `strings.HasSuffix(field, "Time")`,
		new:  `strings.HasSuffix(field, "Hour")`,
		harm: "the status of a Deployment is contested for ever, sixty times a minute",
	},
	{
		name: "what-was-there-is-reported-again", file: "mirror/gather/statuses.go",
		old:  `case !ok || known.Source != now.Source:`,
		new:  `case !ok:`,
		harm: "a rollout of a recreated object ends by the report of the one before",
	},
	{
		name: "earlier-reports-are-never-renewed", file: "mirror/gather/statuses.go",
		old:  `case known.Renewed || !bytes`,
		new:  `case !bytes`,
		harm: "a source that was recreated once loses its status for minutes after each edit",
	},
	{
		name: "no-look-after-five-minutes", file: "mirror/status.go",
		old:  `return write.Turn{After: trust}, err`,
		new:  `return write.Turn{}, err`,
		harm: "a source that is recreated as it was never has a status without a sweep",
	},
	{
		name: "recreated-sources-have-no-status", file: "mirror/status.go",
		old:  ` || err == nil && now.GetUID() != source.UID`,
		new:  ` && now == nil`,
		harm: "all statuses of a resource wait because one object was recreated",
	},
	{
		name: "what-is-altered-is-never-observed", file: "mirror/judge/status.go",
		old:  `operation == Update && j.Facts.Altered[cluster] == target.Digest()`,
		new:  `operation == Create`,
		harm: "Argo CD waits for ever where admission alters Works",
	},
}
