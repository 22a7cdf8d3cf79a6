package main

var ofWriter = []mutant{
	{
		name: "operations-that-panic", file: "mirror/write/writer.go",
		old: `			defer state.Catch(&err)
`,
		new:  ``,
		harm: "one Work that cannot be written ends every leader, and nothing is mirrored any more",
	},
	{
		name: "deletions-of-namesake-works", file: "mirror/write/client.go",
		old:  `Preconditions{UID: &w.UID, ResourceVersion: &w.ResourceVersion}`,
		new:  `Preconditions{ResourceVersion: &w.ResourceVersion}`,
		harm: "a Work that was recreated since it was examined is deleted",
	},
	{
		name: "deletions-of-changed-works", file: "mirror/write/client.go",
		old:  `Preconditions{UID: &w.UID, ResourceVersion: &w.ResourceVersion}`,
		new:  `Preconditions{UID: &w.UID}`,
		harm: "a Work that has changed since it was examined is deleted",
	},
	{
		name: "shrunk-at-any-version", file: "mirror/write/client.go",
		old:  `render.Shrink(obj.Object, w.Source, w.ResourceVersion)`,
		new:  `render.Shrink(obj.Object, w.Source, obj.GetResourceVersion())`,
		harm: "a Work that has changed since it was examined is shrunk and deleted",
	},
	{
		name: "deletions-are-repeated", file: "mirror/write/client.go",
		old:  `MaxRetries(0).Throttle(nil)`,
		new:  `Throttle(nil)`,
		harm: "a deletion that the API server has put off is carried out when nothing justifies it any more",
	},
	{
		name: "outdated-operations", file: "mirror/write/writer.go",
		old: `return now != op.Work
`,
		new: `return now == nil && op.Work != nil
`,
		harm: "a plan is carried out on a Work that changed while the plan waited",
	},
	{
		name: "deletions-pass-the-breaker", file: "mirror/write/writer.go",
		old: `	if op.Kind == judge.Delete {
		a :=`,
		new: `	if op.Kind == judge.Delete && op.Work.Held != nil {
		a :=`,
		harm: "no deletion is held",
	},
	{
		name: "deletions-without-an-answer-are-not-booked", file: "mirror/write/breaker.go",
		old:  `if _, isPending := next[cluster]; d.sent && !isPending && !d.finished {`,
		new:  `if _, isPending := next[cluster]; d.sent && isPending && !d.finished {`,
		harm: "an API server that answers too late lets a mass deletion pass the breaker",
	},
	{
		name: "deletions-wait-for-ever", file: "mirror/write/client.go",
		old:  `inTime, cancel := context.WithTimeout(ctx, deletionDeadline)`,
		new:  `inTime, cancel := context.WithCancel(ctx)`,
		harm: "a deletion that hangs on the API server is carried out after its object is wanted again",
	},
	{
		name: "deletions-are-not-booked", file: "mirror/write/writer.go",
		old:  `w.Breaker.made(resource, work, approved)`,
		new:  `_ = approved`,
		harm: "a fast stream of single deletions empties every member",
	},
	{
		name: "marked-over-and-over", file: "mirror/write/writer.go",
		old:  `if a.wait > 0 || a.held && op.Work.Held != nil {`,
		new:  `if a.wait > 0 {`,
		harm: "each sync of a held Work renews its mark, so that no approval ever covers it",
	},
}
