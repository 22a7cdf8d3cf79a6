package main

var ofEnqueue = []mutant{
	{
		name: "changes-go-unseen", file: "mirror/enqueue.go",
		old: `			c.enqueueFresh(o.ID)
		}
		c.enqueueObject(o)`,
		new: `			c.enqueueFresh(o.ID)
		}`,
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
	for id := range c.reported() {
		c.enqueue(id)`,
		new: `if !w.NamesSource() {
			c.enqueue(w.Source)
		}
	}
	for id := range c.reported() {
		c.enqueue(id)`,
		harm: "what was deleted while the daemon was down stays in the members",
	},
	{
		name: "deleted-works-go-unseen", file: "mirror/enqueue.go",
		old: `		if w.NamesSource() {
			c.enqueue(w.Source)
		}
		if scaled`,
		new: `		if w.NamesSource() && w == after {
			c.enqueue(w.Source)
		}
		if scaled`,
		harm: "a Work that a user deletes is not recreated",
	},
	{
		name: "who-has-a-work-goes-unseen", file: "mirror/enqueue.go",
		old:  `		c.ownerChanged(before, after)`,
		new:  ``,
		harm: "a source that waits for a Work's name is not mirrored, and no one hears of Pods that lack a ConfigMap",
	},
	{
		name: "notices-outlive-their-resource", file: "mirror/enqueue.go",
		old:  `range c.noticed.all() {`,
		new:  `range c.refused.all() {`,
		harm: "the alert on held waves fires until a restart",
	},
	{
		name: "what-depends-on-a-list-goes-unseen", file: "mirror/enqueue.go",
		old:  `range c.caches.DependingOn(kind) {`,
		new:  `range sets.New[render.Identity]() {`,
		harm: "no one hears of Pods that lack a ConfigMap",
	},
	{
		name: "an-outage-between-lists-goes-unseen", file: "mirror/state/cluster.go",
		old:  `(!before.IsReady || !c.ReadySince.Equal(before.ReadySince))`,
		new:  `!before.IsReady`,
		harm: "after an outage, changes wait for a quarter of an hour",
	},
	{
		name: "waiting-sources-go-unseen", file: "mirror/report.go",
		old:  `range []string{id.WorkName(), id.LongWorkName()} {`,
		new:  `range []string{id.WorkName()} {`,
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
