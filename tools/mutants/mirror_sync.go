package main

var ofSync = []mutant{
	{
		name: "syncs-that-panic", file: "mirror/sync.go",
		old: `	defer state.Catch(&err)
`,
		new:  ``,
		harm: "one object that cannot be judged ends every leader, and nothing is mirrored any more",
	},
	{
		name: "sweeps-that-panic", file: "mirror/sweep.go",
		old:  `	defer state.Catch(&err)`,
		new:  `	_ = state.Catch`,
		harm: "one object that cannot be judged ends every leader after some minutes",
	},
	{
		name: "panics-without-their-place", file: "mirror/lead.go",
		old:  `fields = append(fields, zap.String("stack", p.Stack))`,
		new:  `fields = append(fields, zap.String("stack", ""), zap.Int("length", len(p.Stack)))`,
		harm: "no one can find the defect",
	},
	{
		name: "nothing-is-deleted", file: "mirror/remove.go",
		old:  `if len(j.Due) == 0 || settle > 0 {`,
		new:  `if len(j.Due) >= 0 || settle > 0 {`,
		harm: "Works that nothing wants stay forever",
	},
	{
		name: "amendments-first", file: "mirror/remove.go",
		old: `	c.writer.Each(ctx, only(p.Plan, judge.Delete), isFresh, o,`,
		new: `	if len(only(p.Plan, judge.Amend)) > 0 {
		return
	}
	c.writer.Each(ctx, only(p.Plan, judge.Delete), isFresh, o,`,
		harm: "a Work that cannot be amended keeps the object in all other clusters",
	},
	{
		name: "stale-configurations-delete", file: "mirror/remove.go",
		old:  `if err := c.currency.confirm(ctx); err != nil {`,
		new:  `if err := c.currency.confirm(ctx); err != nil && ctx.Err() != nil {`,
		harm: "what has just left the configuration is deleted",
	},
	{
		name: "new-leaders-believe-an-old-configuration", file: "mirror/lead.go",
		old:  `			err = c.currency.check(ctx)`,
		new:  `			_ = c.currency.check(ctx)`,
		harm: "a new leader mirrors what is no longer allowed",
	},
	{
		name: "holds-are-forgotten-when-a-cache-is-listed-again", file: "mirror/enqueue.go",
		old: `	c.recallHeld()
	c.enqueueSourcesOf(w)`,
		new:  `	c.enqueueSourcesOf(w)`,
		harm: "deletions that were held pass the breaker",
	},
	{
		name: "proofs-hold-for-ever", file: "mirror/remove.go",
		old:  `c.Clock.Since(p.made) <= proofAge && slices.Equal(p.seen, c.caches.Seen(p.Facts.ID))`,
		new:  `p != nil`,
		harm: "a deletion is based on what was true a while ago",
	},
	{
		name: "proofs-outlive-changes", file: "mirror/remove.go",
		old:  ` && slices.Equal(p.seen, c.caches.Seen(p.Facts.ID))`,
		new:  ``,
		harm: "a Work is deleted although its source has been seen to ask for it again",
	},
	{
		name: "old-proofs-hold", file: "mirror/remove.go",
		old:  `c.Clock.Since(p.made) <= proofAge && `,
		new:  ``,
		harm: "a deletion that waited for its turn is based on what was true before",
	},
	{
		name: "second-proofs-are-not-checked", file: "mirror/remove.go",
		old:  `if !isDue || !c.holds(p) {`,
		new:  `if !isDue {`,
		harm: "a deletion is based on a proof that became outdated while it was made",
	},
	{
		name: "stopping-leaders-miss-what-they-drop", file: "mirror/sweep.go",
		old:  `if q.ShuttingDown() {`,
		new:  `if q.Len() < 0 {`,
		harm: "each leader that stops under load logs errors and counts bugs that are none",
	},
	{
		name: "obstacles-that-are-gone-are-believed", file: "mirror/sync.go",
		old:  `if now, _ := c.caches.WorkAt(j.Facts.ID, cluster, w.Name); now != w {`,
		new:  `if now, _ := c.caches.WorkAt(j.Facts.ID, cluster, w.Name); now == nil && w == nil {`,
		harm: "a source waits forever for a Work that is gone",
	},
	{
		name: "new-leaders-believe-stale-caches", file: "mirror/sync.go",
		old:  `return ok && state.IsOlder(version, *c.fence.Load())`,
		new:  `return ok && state.IsOlder(version, "")`,
		harm: "a new leader writes old content over what the previous one wrote",
	},
	{
		name: "leading-before-the-caches-are-there", file: "mirror/lead.go",
		old:  `if !c.caches.HasSynced() || !c.caches.IsConfigured() {`,
		new:  `if !c.caches.IsConfigured() {`,
		harm: "a new leader creates what exists, because its cache does not have it yet",
	},
}
