package main

var ofBreaker = []mutant{
	{
		name: "breaker-trips-one-early", file: "mirror/write/breaker.go",
		old:  `n <= threshold.Works ||`,
		new:  `n < threshold.Works ||`,
		harm: "what the threshold allows is held",
	},
	{
		name: "breaker-trips-one-late", file: "mirror/write/breaker.go",
		old:  `n <= threshold.Works ||`,
		new:  `n <= threshold.Works+1 ||`,
		harm: "one more than the threshold allows is deleted",
	},
	{
		name: "breaker-forgets-the-share", file: "mirror/write/breaker.go",
		old:  `return n*100 > threshold.Percent*(c.total+len(c.made))`,
		new:  `return true`,
		harm: "an ordinary day's deletions in a large fleet are held",
	},
	{
		name: "breaker-holds-the-share-itself", file: "mirror/write/breaker.go",
		old:  `return n*100 > threshold.Percent*`,
		new:  `return n*100 >= threshold.Percent*`,
		harm: "the share that the threshold allows is held",
	},
	{
		name: "breaker-forgets-what-was-there", file: "mirror/write/breaker.go",
		old:  `threshold.Percent*(c.total+len(c.made))`,
		new:  `threshold.Percent*c.total`,
		harm: "the share is of what is left, so that slow deletions trip it",
	},
	{
		name: "breaker-forgets-what-it-let-go", file: "mirror/write/breaker.go",
		old:  `n := c.due + len(c.made)`,
		new:  `n := c.due`,
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
		name: "one-object-trips-the-breaker", file: "mirror/write/breaker.go",
		old:  ` || !c.isOfSeveral() {`,
		new:  ` {`,
		harm: "what somebody does to a single object by hand is held",
	},
	{
		name: "no-object-trips-the-breaker", file: "mirror/write/breaker.go",
		old:  `if len(c.pending) > 1 {`,
		new:  `if len(c.pending) > 2 {`,
		harm: "two objects on very many clusters are deleted at once",
	},
	{
		name: "marks-do-not-last", file: "mirror/write/breaker.go",
		old:  `c.tripped = c.tripped || w.Held != nil && !b.isApprovedLocked(resource, w)`,
		new:  `_ = w`,
		harm: "a restart lets go what is held",
	},
	{
		name: "old-approvals-hold-for-ever", file: "mirror/write/breaker.go",
		old:  `!w.Held.Since.After(b.approved.Until(resource, w.Source.Namespace))`,
		new:  `!b.approved.Until(resource, w.Source.Namespace).IsZero()`,
		harm: "an approval of last year lets go what is held today",
	},
	{
		name: "approvals-miss-the-last", file: "mirror/write/breaker.go",
		old:  `!w.Held.Since.After(b.approved.Until(resource, w.Source.Namespace))`,
		new:  `w.Held.Since.Before(b.approved.Until(resource, w.Source.Namespace))`,
		harm: "what was held last is not let go by the approval that was given for it",
	},
	{
		name: "approvals-cover-what-is-not-held", file: "mirror/write/breaker.go",
		old:  `return w.Held != nil && !w.Held.Since.After(b.approved.Until(resource, w.Source.Namespace))`,
		new:  `return w.Held == nil && !b.approved[resource].IsZero() || w.Held != nil && !w.Held.Since.After(b.approved.Until(resource, w.Source.Namespace))`,
		harm: "an approval turns the breaker off for the resource",
	},
	{
		name: "approvals-reach-other-namespaces", file: "config/approvals.go",
		old: `if of := a[ApprovalOf(resource, namespace)]; of.After(until) {
		until = of
	}`,
		new: `for _, of := range a {
		if of.After(until) {
			until = of
		}
	}`,
		harm: "an approval of one namespace lets go what is held of others",
	},
	{
		name: "approved-deletions-count", file: "mirror/write/breaker.go",
		old:  `	if !approved {`,
		new:  `	if source.Name != "" {`,
		harm: "after an approval the next deletion by hand is held",
	},
	{
		name: "nothing-settles", file: "mirror/write/breaker.go",
		old:  `!ok || now.Sub(since) < b.settle {`,
		new:  `!ok || since.IsZero() {`,
		harm: "the first of a burst are deleted before the others are counted",
	},
	{
		name: "more-targets-settle-at-once", file: "mirror/write/breaker.go",
		old: `		since, ok := before[w.Cluster]
		if !ok {
`,
		new: `		since, ok := before[w.Cluster]
		for _, first := range before {
			since, ok = first, true
		}
		if !ok {
`,
		harm: "clusters that are taken off one by one are not counted together",
	},
	{
		name: "no-approval-is-needed", file: "mirror/write/breaker.go",
		old:  `c.tripped || needsApproval || c.exceeds`,
		new:  `c.tripped || c.exceeds`,
		harm: "what goes with its definition is deleted without an approval",
	},
	{
		name: "breaker-does-not-close", file: "mirror/write/breaker.go",
		old:  `c.tripped, c.told = false, 0`,
		new:  `c.told = 0`,
		harm: "once tripped, the breaker holds every deletion until the next restart",
	},
	{
		name: "off-is-not-off", file: "mirror/write/breaker.go",
		old:  `held: c.tripped && (needsApproval || b.threshold.Works > 0), pending`,
		new:  `held: c.tripped, pending`,
		harm: "a breaker that was turned off holds what it has held before",
	},
	{
		name: "marks-from-before-the-approval", file: "mirror/write/breaker.go",
		old:  `now.Before(earliest) {`,
		new:  `now.Before(earliest) && earliest.IsZero() {`,
		harm: "an approval by a clock that is ahead lets go what is held after it",
	},
}
