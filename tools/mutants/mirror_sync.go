package main

var ofSync = []mutant{
	{
		name: "deletions-of-namesake-works", file: "mirror/client.go",
		old:  `Preconditions{UID: &w.UID, ResourceVersion: &version}`,
		new:  `Preconditions{ResourceVersion: &version}`,
		harm: "a Work that was made again since it was examined is deleted",
	},
	{
		name: "deletions-of-changed-works", file: "mirror/client.go",
		old:  `Preconditions{UID: &w.UID, ResourceVersion: &version}`,
		new:  `Preconditions{UID: &w.UID}`,
		harm: "a Work that has changed since it was examined is deleted",
	},
	{
		name: "shrunk-at-any-version", file: "mirror/client.go",
		old:  `render.Shrink(obj.Object, w.Source, w.ResourceVersion)`,
		new:  `render.Shrink(obj.Object, w.Source, obj.GetResourceVersion())`,
		harm: "a Work that has changed since it was examined is shrunk and deleted",
	},
	{
		name: "outdated-operations", file: "mirror/apply.go",
		old: `return now != op.Work
`,
		new: `return now == nil && op.Work != nil
`,
		harm: "a plan is carried out on a Work that has changed while it waited",
	},
	{
		name: "deletions-pass-the-breaker", file: "mirror/apply.go",
		old:  `if op.Kind == Delete && !c.admitDeletion(v, &op, o) {`,
		new:  `if op.Kind == Delete && op.Work.Held != nil && !c.admitDeletion(v, &op, o) {`,
		harm: "no deletion is held",
	},
	{
		name: "deletions-are-not-booked", file: "mirror/apply.go",
		old:  `c.breaker.made(c.resourceOf(v.ID), v.ID, op.approved)`,
		new:  `_ = c.breaker`,
		harm: "a fast stream of single deletions empties every member",
	},
	{
		name: "marked-over-and-over", file: "mirror/apply.go",
		old: `return op.Work.Held == nil
`,
		new: `return true
`,
		harm: "each look at a held Work renews its mark, so that no approval ever covers it",
	},
	{
		name: "nothing-is-deleted", file: "mirror/sync.go",
		old:  `toProve := due > 0 && cached.settle == 0;`,
		new:  `toProve := due < 0;`,
		harm: "what nobody wants stays for ever",
	},
	{
		name: "new-leaders-believe-stale-caches", file: "mirror/sync.go",
		old:  `return isOlder(w.Status().ResourceVersion, fence) || `,
		new:  `return w == nil || `,
		harm: "a new leader writes old content over what the last one wrote",
	},
	{
		name: "new-leaders-believe-stale-defaults", file: "mirror/sync.go",
		old:  `|| hasDefaults && isOlder(c.namespaces.Status().ResourceVersion, fence)`,
		new:  `|| hasDefaults && fence == ""`,
		harm: "a new leader mirrors to where a Namespace has ceased to ask",
	},
	{
		name: "unlabelled-works-are-due", file: "mirror/sync.go",
		old:  ` && w.Labelled && !w.Terminating && `,
		new:  ` && `,
		harm: "Works that are not deleted trip the breaker for those that are",
	},
	{
		name: "leading-before-the-caches-are-there", file: "mirror/lead.go",
		old:  `if !areSynced(c.fixed()...) || c.configuration.Load() == nil {`,
		new:  `if c.configuration.Load() == nil {`,
		harm: "a new leader creates what is there, and takes its absence for a fact",
	},
	{
		name: "purge-takes-what-is-marked", file: "mirror/purge.go",
		old:  `if w.Foreign != "" || !w.Labelled || w.Terminating`,
		new:  `if !w.Labelled || w.Terminating`,
		harm: "purge deletes a Work of another controller",
	},
	{
		name: "purge-takes-what-is-configured", file: "mirror/purge.go",
		old:  `if r, ok := c.Resource(p.Resource); ok && r.SelectsNamespace(w.Source.Namespace) {`,
		new:  `if _, ok := c.Resource(p.Resource); !ok {`,
		harm: "purge deletes what a daemon mirrors",
	},
	{
		name: "purge-takes-namesakes", file: "mirror/purge.go",
		old:  `case again.UID != w.UID || !p.takes(again):`,
		new:  `case !p.takes(again):`,
		harm: "purge deletes a Work that was made since it was listed",
	},
}
