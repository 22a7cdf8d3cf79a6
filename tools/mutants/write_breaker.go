package main

var ofBreaker = []mutant{
	{
		name: "breaker-trips-one-early", file: "mirror/write/circuit.go",
		old:  `p.all() <= threshold.Works ||`,
		new:  `p.all() < threshold.Works ||`,
		harm: "what the threshold allows is held",
	},
	{
		name: "breaker-trips-one-late", file: "mirror/write/circuit.go",
		old:  `p.all() <= threshold.Works ||`,
		new:  `p.all() <= threshold.Works+1 ||`,
		harm: "one more than the threshold allows is deleted",
	},
	{
		name: "breaker-forgets-the-share", file: "mirror/write/circuit.go",
		old:  `func isMore(n, percent, of int) bool { return n*100 > percent*of }`,
		new:  `func isMore(_, _, _ int) bool { return true }`,
		harm: "an ordinary day's deletions in a large fleet are held",
	},
	{
		name: "breaker-holds-the-share-itself", file: "mirror/write/circuit.go",
		old:  `return n*100 > percent*of }`,
		new:  `return n*100 >= percent*of }`,
		harm: "the share that the threshold allows is held",
	},
	{
		name: "breaker-forgets-what-was-there", file: "mirror/write/circuit.go",
		old:  `works()[namespace]+len(p.made))`,
		new:  `works()[namespace])`,
		harm: "the share counts what is left, so that slow deletions trip the breaker",
	},
	{
		name: "breaker-forgets-what-it-let-go", file: "mirror/write/circuit.go",
		old:  `return p.due + len(p.made) }`,
		new:  `return p.due }`,
		harm: "a fast stream of single deletions empties every member",
	},
	{
		name: "short-window", file: "mirror/write/breaker.go",
		old:  `breakerWindow = 10 * time.Minute`,
		new:  `breakerWindow = 5 * time.Minute`,
		harm: "a slower stream of deletions than the docs say empties every member",
	},
	{
		name: "long-window", file: "mirror/write/breaker.go",
		old:  `breakerWindow = 10 * time.Minute`,
		new:  `breakerWindow = 20 * time.Minute`,
		harm: "deletions of long ago hold back those of today",
	},
	{
		name: "one-object-trips-the-breaker", file: "mirror/write/circuit.go",
		old:  ` || !p.isOfSeveral() {`,
		new:  ` {`,
		harm: "what a user does to a single object by hand is held",
	},
	{
		name: "no-object-trips-the-breaker", file: "mirror/write/circuit.go",
		old:  `if one.Insert(source); one.Len() > 1 {`,
		new:  `if one.Insert(source); one.Len() > 2 {`,
		harm: "two objects on very many clusters are deleted at once",
	},
	{
		name: "marks-do-not-last", file: "mirror/write/breaker.go",
		old: `		if w.Held != nil {
			d.by`,
		new: `		if w == nil {
			d.by`,
		harm: "a restart releases what is held",
	},
	{
		name: "old-approvals-hold-for-ever", file: "mirror/write/breaker.go",
		old:  `!w.Held.Since.After(b.approved.Until(resource, w.Source.Namespace, w.Cluster))`,
		new:  `!b.approved.Until(resource, w.Source.Namespace, w.Cluster).IsZero()`,
		harm: "last year's approval releases what is held today",
	},
	{
		name: "approvals-miss-the-last", file: "mirror/write/breaker.go",
		old:  `!w.Held.Since.After(b.approved.Until(resource, w.Source.Namespace, w.Cluster))`,
		new:  `w.Held.Since.Before(b.approved.Until(resource, w.Source.Namespace, w.Cluster))`,
		harm: "what was held last is not released by the approval that was given for it",
	},
	{
		name: "approvals-cover-what-is-not-held", file: "mirror/write/breaker.go",
		old:  `return w.Held != nil && !w.Held.Since.After(b.approved.Until(resource, w.Source.Namespace, w.Cluster))`,
		new:  `return w.Held == nil && !b.approved[resource].IsZero() || w.Held != nil && !w.Held.Since.After(b.approved.Until(resource, w.Source.Namespace, w.Cluster))`,
		harm: "an approval turns the breaker off for the resource",
	},
	{
		name: "approvals-reach-other-namespaces", file: "config/approvals.go",
		old:  `for _, key := range []string{ApprovalOf(resource, "", ""), ApprovalOf(resource, namespace, ""), ApprovalOf(resource, "", member), ApprovalOf(resource, namespace, member)} {`,
		new:  `for key := range a {`,
		harm: "an approval for one namespace, or one member, releases what is held for others",
	},
	{
		name: "approved-deletions-count", file: "mirror/write/circuit.go",
		old:  `if !approved && !due.finished {`,
		new:  `if source.Name != "" && !due.finished {`,
		harm: "after an approval the next deletion by hand is held",
	},
	{
		name: "others-deletions-do-not-count", file: "mirror/enqueue.go",
		old:  `		c.breaker.Saw(after)`,
		new:  `		_ = after`,
		harm: "two processes that lead by mistake delete twice what the threshold allows",
	},
	{
		name: "every-deletion-seen-counts", file: "mirror/write/breaker.go",
		old:  `ok && d.by == heldNone {`,
		new:  `ok || d.by == heldNone {`,
		harm: "an administrator who deletes what is held trips the breaker again",
	},
	{
		name: "our-deletions-count-twice", file: "mirror/write/circuit.go",
		old:  `	if !isDue {`,
		new:  `	if !isDue && w == nil {`,
		harm: "a fast watch halves what the threshold allows",
	},
	{
		name: "nothing-settles", file: "mirror/write/breaker.go",
		old:  `!ok || now.Sub(d.since) < b.settle {`,
		new:  `!ok || d.since.IsZero() {`,
		harm: "the first of a burst are deleted before the others are counted",
	},
	{
		name: "more-targets-settle-at-once", file: "mirror/write/breaker.go",
		old: `		d, ok := before[w.Cluster]
		if !ok {
`,
		new: `		d, ok := before[w.Cluster]
		for _, first := range before {
			d, ok = first, true
		}
		if !ok {
`,
		harm: "clusters that are removed one by one are not counted together",
	},
	{
		name: "no-approval-is-needed", file: "mirror/write/breaker.go",
		old:  `c.countWorks(now, count) }) || needsApproval`,
		new:  `c.countWorks(now, count) })`,
		harm: "objects that are deleted with their definition need no approval",
	},
	{
		name: "breaker-does-not-close", file: "mirror/write/circuit.go",
		old:  `if f.holds += n; f.holds == 0 {`,
		new:  `if f.holds += max(n, 0); f.holds == 0 {`,
		harm: "once tripped, the breaker holds every deletion until the next restart",
	},
	{
		name: "off-is-not-off", file: "mirror/write/breaker.go",
		old:  `held: (c.tripped() || in.tripped()) && (needsApproval || b.threshold.Works > 0)}`,
		new:  `held: c.tripped() || in.tripped()}`,
		harm: "a breaker that was turned off still holds what it held before",
	},
	{
		name: "marks-from-before-the-approval", file: "mirror/write/breaker.go",
		old:  `now.Before(earliest) {`,
		new:  `now.Before(earliest) && earliest.IsZero() {`,
		harm: "an approval by a clock that is ahead releases what is held after it",
	},
	{
		name: "one-namespace-holds-up-all", file: "mirror/write/circuit.go",
		old:  `rest := all - largest.all()`,
		new:  `rest := all`,
		harm: "a tenant's own deletions stop everyone's",
	},
	{
		name: "namespaces-are-counted-apart", file: "mirror/write/circuit.go",
		old:  `return isMore(rest, threshold.Percent, total)`,
		new:  `return isMore(rest, threshold.Percent, total) && total < 0`,
		harm: "a mass deletion that is spread over many Namespaces is carried out",
	},
	{
		name: "a-namespace-is-no-circuit", file: "mirror/write/circuit.go",
		old:  `if p.blown = p.exceeds(threshold, namespace, works); p.tripped() {`,
		new:  `if p.tripped() {`,
		harm: "everything in a Namespace is deleted at once",
	},
	{
		name: "what-is-held-is-counted", file: "mirror/write/circuit.go",
		old: `			continue
		}
		all, made`,
		new: `			_ = namespace
		}
		all, made`,
		harm: "a user with several Namespaces stops everyone's deletions",
	},
	{
		name: "a-restart-narrows-what-is-held", file: "mirror/write/breaker.go",
		old:  `case w.Held.Whole:`,
		new:  `case false:`,
		harm: "a new leader carries out the rest of a mass deletion that was held",
	},
	{
		name: "what-a-namespace-holds-holds-all", file: "mirror/write/breaker.go",
		old:  `	if w.Held == nil { // it is about to be marked`,
		new:  `	if true {`,
		harm: "one Namespace that no one approves holds up everyone's deletions, once those have been held",
	},
	{
		name: "marks-are-found-late", file: "mirror/lead.go",
		old:  `		c.breaker.Propose(of.resource, of.source, works)`,
		new:  `		_, _ = of, works`,
		harm: "a new leader deletes before it has seen what is held",
	},
	{
		name: "what-is-held-is-a-part-of-all", file: "mirror/write/circuit.go",
		old:  `if namespace != most && !slices.Contains(tripped, namespace) {`,
		new:  `if namespace != most && !slices.Contains(tripped[:0], namespace) {`,
		harm: "one large Namespace lets a mass deletion of all the small ones through",
	},
}
