package main

var ofSync = []mutant{
	{
		name: "nothing-is-deleted", file: "mirror/remove.go",
		old:  `if len(j.Due) == 0 || settle > 0 {`,
		new:  `if len(j.Due) >= 0 || settle > 0 {`,
		harm: "what nobody wants stays for ever",
	},
	{
		name: "proofs-hold-for-ever", file: "mirror/remove.go",
		old:  `c.Clock.Since(p.made) <= proofAge && slices.Equal(p.seen, c.caches.Seen(p.Facts.ID))`,
		new:  `p != nil`,
		harm: "a deletion rests on what was true a while ago",
	},
	{
		name: "proofs-outlive-changes", file: "mirror/remove.go",
		old:  ` && slices.Equal(p.seen, c.caches.Seen(p.Facts.ID))`,
		new:  ``,
		harm: "a deletion is made though the source has been seen to ask again",
	},
	{
		name: "old-proofs-hold", file: "mirror/remove.go",
		old:  `c.Clock.Since(p.made) <= proofAge && `,
		new:  ``,
		harm: "a deletion that has waited for its turn rests on what was true then",
	},
	{
		name: "second-proofs-are-not-checked", file: "mirror/remove.go",
		old:  `if !isDue || !c.holds(p) {`,
		new:  `if !isDue {`,
		harm: "a deletion rests on a proof that has been overtaken while it was made",
	},
	{
		name: "obstacles-that-are-gone-are-believed", file: "mirror/sync.go",
		old:  `if now, _ := c.caches.WorkAt(j.Facts.ID, cluster, w.Name); now != w {`,
		new:  `if now, _ := c.caches.WorkAt(j.Facts.ID, cluster, w.Name); now == nil && w == nil {`,
		harm: "a source waits for ever for a Work that is gone",
	},
	{
		name: "new-leaders-believe-stale-caches", file: "mirror/sync.go",
		old:  `return ok && state.IsOlder(version, *c.fence.Load())`,
		new:  `return ok && state.IsOlder(version, "")`,
		harm: "a new leader writes old content over what the last one wrote",
	},
	{
		name: "leading-before-the-caches-are-there", file: "mirror/lead.go",
		old:  `if !c.caches.HasSynced() || !c.caches.IsConfigured() {`,
		new:  `if !c.caches.IsConfigured() {`,
		harm: "a new leader creates what is there, and takes its absence for a fact",
	},
}
