package main

var ofEnqueue = []mutant{
	{
		name: "changes-go-unseen", file: "mirror/enqueue.go",
		old: `		c.enqueueObject(o)
		for workload`,
		new:  `		for workload`,
		harm: "an object that is edited does not reach the members",
	},
	{
		name: "deleted-sources-go-unseen", file: "mirror/enqueue.go",
		old:  `for _, o := range []*state.Object{before, after} {`,
		new:  `for _, o := range []*state.Object{after} {`,
		harm: "an object that is deleted stays in the members",
	},
	{
		name: "orphans-go-unseen", file: "mirror/enqueue.go",
		old: `if w.NamesSource() {
			c.enqueue(w.Source)
		}
	}
	for _, id := range`,
		new: `if !w.NamesSource() {
			c.enqueue(w.Source)
		}
	}
	for _, id := range`,
		harm: "what was deleted while the daemon was down stays in the members",
	},
	{
		name: "deleted-works-go-unseen", file: "mirror/enqueue.go",
		old:  `for _, w := range []*state.Work{before, after} {`,
		new:  `for _, w := range []*state.Work{after} {`,
		harm: "a Work that a user deletes is not recreated",
	},
	{
		name: "waiting-sources-go-unseen", file: "mirror/report.go",
		old: `	name := id.WorkName()
	waiting`,
		new: `	name := id.Name
	waiting`,
		harm: "a source whose Work name was taken is not mirrored when the name becomes free",
	},
	{
		name: "defaults-go-unseen", file: "mirror/namespace.go",
		old:  `	c.enqueueObjectsIn(name)`,
		new:  `	_ = name`,
		harm: "objects do not follow their Namespace's default",
	},
	{
		name: "what-is-scaled-goes-unseen", file: "mirror/enqueue.go",
		old: `if o.Scales != nil {
		c.enqueue(*o.Scales)`,
		new: `if o.Scales == nil {
		c.enqueue(o.ID)`,
		harm: "Karmada fights an autoscaler that was added later",
	},
	{
		name: "clusters-that-return-go-unseen", file: "mirror/cluster.go",
		old: `		if w.NamesSource() {
			c.enqueue(w.Source)`,
		new: `		if !w.NamesSource() {
			c.enqueue(w.Source)`,
		harm: "a cluster that returns without the label that selected it keeps its Works",
	},
}
