package main

var ofLedger = []mutant{
	{
		name: "ping-pong-with-admission", file: "mirror/write/ledger.go",
		old: `if op.Kind == judge.Update {
		if held`,
		new: `if op.Kind == judge.Wake {
		if held`,
		harm: "a Work that a webhook alters is written forever",
	},
	{
		name: "edits-pass-for-admission", file: "mirror/write/echoes.go",
		old:  `&& onlySpec && w.Generation == e.answer.generation`,
		new:  `&& onlySpec`,
		harm: "an edited Work is never repaired",
	},
	{
		name: "old-works-are-judged", file: "mirror/write/echoes.go",
		old:  `return ok && !last.altered && e.clock.Now().Before(last.until) && !last.hasCome(cached)`,
		new:  `return ok && last.altered`,
		harm: "an edit that is reverted while its write is in flight is lost",
	},
	{
		name: "lost-writes-are-waited-for", file: "mirror/write/echoes.go",
		old:  `&& e.clock.Now().Before(last.until) && !last.hasCome(cached)`,
		new:  `&& !last.hasCome(cached)`,
		harm: "a lost write is never retried",
	},
	{
		name: "lost-writes-are-forgotten", file: "mirror/write/echoes.go",
		old:  `return !last.altered && !now.Before(last.until)`,
		new:  `return last.altered && !now.Before(last.until)`,
		harm: "a lost write is retried only at the next sweep",
	},
	{
		name: "edits-since-are-waited-out", file: "mirror/write/echoes.go",
		old:  `return w != nil && !state.IsOlder(w.ResourceVersion, e.answer.version)`,
		new:  `return w != nil && w.ResourceVersion == e.answer.version`,
		harm: "an edited Work is repaired half a minute later",
	},
	{
		name: "early-events-pass-for-ours", file: "mirror/write/echoes.go",
		old:  `return w != nil && !state.IsOlder(w.ResourceVersion, e.answer.version)`,
		new:  `return w != nil`,
		harm: "an event from before our write passes for its echo",
	},
	{
		name: "namesakes-wait-for-deletions", file: "mirror/write/echoes.go",
		old:  `return w == nil || w.UID != e.work || w.Terminating`,
		new:  `return w == nil || w.Terminating`,
		harm: "a Work that was recreated after a deletion is not counted by the breaker",
	},
	{
		name: "going-works-are-waited-for", file: "mirror/write/echoes.go",
		old:  `return w == nil || w.UID != e.work || w.Terminating`,
		new:  `return w == nil || w.UID != e.work`,
		harm: "a deletion that waits for its member looks like one that was lost",
	},
	{
		name: "altered-works-are-forgotten", file: "mirror/write/echoes.go",
		old: `	case last.wasAltered(w):
`,
		new: `	case w == nil:
`,
		harm: "what admission has altered is written again at each restart of the watch",
	},
	{
		name: "said-over-and-over", file: "mirror/write/echoes.go",
		old: `	if last.said {
`,
		new: `	if last.said && w.kind == judge.Delete {
`,
		harm: "one webhook floods the log",
	},
	{
		name: "refused-writes-are-repeated", file: "mirror/write/parked.go",
		old:  `if !ok || left <= 0 || last.write != w && !last.isAsLarge(v, op) {`,
		new:  `if !ok || left <= time.Hour || last.write != w && !last.isAsLarge(v, op) {`,
		harm: "a refused write is sent at each sync",
	},
	{
		name: "refused-writes-are-given-up", file: "mirror/write/parked.go",
		old:  `if !ok || left <= 0 || last.write`,
		new:  `if !ok || last.write`,
		harm: "a write that was refused for a while is never retried",
	},
	{
		name: "as-large-is-tried-again", file: "mirror/write/parked.go",
		old:  `Size() >= p.size`,
		new:  `Size() > p.size`,
		harm: "megabytes that cannot be written are sent at each change",
	},
	{
		name: "other-content-waits", file: "mirror/write/parked.go",
		old:  `last.write != w && !last.isAsLarge(v, op)`,
		new:  `last.write.kind != w.kind && !last.isAsLarge(v, op)`,
		harm: "a change that fixes a refused write is written five minutes later",
	},
	{
		name: "rights-are-waited-for", file: "mirror/write/parked.go",
		old: `if refusal.Reason == judge.NotAuthorized {
		retry, isKnown`,
		new: `if refusal.Reason == judge.TooLarge {
		retry, isKnown`,
		harm: "an API server that has just started holds up writes for five minutes",
	},
	{
		name: "unprotected-works-wait", file: "mirror/write/ledger.go",
		old:  `w.version = op.Work.ResourceVersion`,
		new:  `w.version = ""`,
		harm: "an unwanted Work whose protection was removed stays for minutes",
	},
	{
		name: "contests-have-no-pause", file: "mirror/write/contests.go",
		old:  `if c.writes < uncontested {`,
		new:  `if c.writes >= uncontested {`,
		harm: "a Work with two writers is written as fast as both can",
	},
	{
		name: "contests-never-end", file: "mirror/write/contests.go",
		old:  `now.Sub(time.Unix(0, c.last)) > peace`,
		new:  `now.Sub(time.Unix(0, c.last)) > 100*peace`,
		harm: "a Work that was edited often last week is repaired late today",
	},
	{
		name: "woken-over-and-over", file: "mirror/write/ledger.go",
		old:  `op.Kind == judge.Wake && l.wakes.has(`,
		new:  `op.Kind == judge.Update && l.wakes.has(`,
		harm: "Works are woken again and again where clocks differ",
	},
	{
		name: "gone-works-are-waited-for", file: "mirror/write/ledger.go",
		old: `	l.echoes.sent.drop(id, cluster)
`,
		new:  ``,
		harm: "a Work that a user deletes at once is recreated half a minute later",
	},
	{
		name: "parted-works-are-not-waited-for", file: "mirror/write/echoes.go",
		old:  `	if e.kind == judge.Detach {`,
		new:  `	if e.kind == judge.Drop {`,
		harm: "a Work is parted from its object again and again until the watch shows it",
	},
}
