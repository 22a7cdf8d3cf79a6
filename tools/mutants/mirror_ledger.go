package main

var ofLedger = []mutant{
	{
		name: "ping-pong-with-admission", file: "mirror/ledger.go",
		old:  `case rewrites && e.wasAltered(op.Work):`,
		new:  `case false:`,
		harm: "a Work that a webhook alters is written for ever",
	},
	{
		name: "edits-pass-for-admission", file: "mirror/ledger.go",
		old:  `return onlySpec && w.Generation == e.written.generation`,
		new:  `return onlySpec`,
		harm: "an edited Work is never repaired",
	},
	{
		name: "writes-are-repeated", file: "mirror/ledger.go",
		old:  `return holdback{refusal: e.refusal, retry: left}, true`,
		new:  `return holdback{}, false`,
		harm: "each write is made again until the watch has caught up",
	},
	{
		name: "lost-writes-are-waited-for", file: "mirror/ledger.go",
		old: `	case left <= 0:
`,
		new: `	case left < -100*peace:
`,
		harm: "a write that is lost is never made again",
	},
	{
		name: "edits-since-are-waited-out", file: "mirror/ledger.go",
		old:  `case rewrites && !isOlder(op.Work.ResourceVersion, e.written.version):`,
		new:  `case false:`,
		harm: "an edited Work is repaired half a minute later",
	},
	{
		name: "deletions-of-namesakes", file: "mirror/ledger.go",
		old:  `return ok && e.write == write{kind: Delete, work: w.UID} && `,
		new:  `return ok && e.kind == Delete && `,
		harm: "a Work that was made again after a deletion is not counted by the breaker",
	},
	{
		name: "lost-deletions-are-never-due", file: "mirror/ledger.go",
		old: ` && l.clock.Now().Before(e.until)
}`,
		new: `
}`,
		harm: "a Work that comes back with a backup of etcd is never deleted again",
	},
	{
		name: "early-events-settle", file: "mirror/ledger.go",
		old:  ` || isOlder(w.ResourceVersion, e.written.version) || `,
		new:  ` || `,
		harm: "an event from before our write passes for its echo",
	},
	{
		name: "altered-works-settle", file: "mirror/ledger.go",
		old:  ` || !w.says(e.write) {`,
		new:  ` {`,
		harm: "what admission has altered passes for what was written, and is never looked at",
	},
	{
		name: "going-works-settle", file: "mirror/ledger.go",
		old: ` && w.Foreign == "" && !w.Terminating
`,
		new: ` && w.Foreign == ""
`,
		harm: "a Work that is deleted before we hear of our write is not created again",
	},
	{
		name: "marked-works-settle", file: "mirror/ledger.go",
		old:  `w.complete() && w.Held == nil && w.Foreign == "" && !w.Terminating`,
		new:  `w.complete() && w.Foreign == "" && !w.Terminating`,
		harm: "a Work that bears a mark passes for what was written, and keeps it",
	},
	{
		name: "as-large-is-tried-again", file: "mirror/ledger.go",
		old:  `t.Size() >= e.size`,
		new:  `t.Size() > e.size`,
		harm: "megabytes that cannot be written are sent at each change",
	},
	{
		name: "contests-have-no-pause", file: "mirror/ledger.go",
		old:  `if c.writes < uncontested {`,
		new:  `if c.writes >= uncontested {`,
		harm: "a Work with two writers is written as fast as both can",
	},
	{
		name: "contests-never-end", file: "mirror/ledger.go",
		old:  `now.Sub(time.Unix(0, c.last)) > peace`,
		new:  `now.Sub(time.Unix(0, c.last)) > 100*peace`,
		harm: "a Work that was edited often last week is repaired late today",
	},
	{
		name: "other-content-waits", file: "mirror/ledger.go",
		old:  `(e.write == w || e.isAsLarge(op, t))`,
		new:  `(e.kind == w.kind || e.isAsLarge(op, t))`,
		harm: "a change that is made right after another is written half a minute later",
	},
	{
		name: "newer-passes-for-older", file: "mirror/ledger.go",
		old:  `return err == nil && order < 0`,
		new:  `return err != nil || order < 0`,
		harm: "where versions cannot be compared, no cache is ever believed",
	},
}
