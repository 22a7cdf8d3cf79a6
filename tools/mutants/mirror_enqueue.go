package main

var ofEnqueue = []mutant{
	{
		name: "removed-annotations-go-unseen", file: "mirror/enqueue.go",
		old: `	case before != nil && before.Asks:
`,
		new: `	case after == nil && before.Asks:
`,
		harm: "an object that is not to be mirrored any more stays in the members",
	},
	{
		name: "deleted-sources-go-unseen", file: "mirror/enqueue.go",
		old: `	case before != nil && before.Asks:
`,
		new: `	case after != nil && before != nil && before.Asks:
`,
		harm: "an object that is deleted stays in the members",
	},
	{
		name: "orphans-go-unseen", file: "mirror/enqueue.go",
		old: `if w := obj.(*Work); w.names() {
			c.enqueue(w.Source)
		}
	}
	for _, id := range`,
		new: `if w := obj.(*Work); !w.names() {
			c.enqueue(w.Source)
		}
	}
	for _, id := range`,
		harm: "what was deleted while the daemon was down stays in the members",
	},
	{
		name: "deleted-works-go-unseen", file: "mirror/enqueue.go",
		old:  `for _, w := range []*Work{before, after} {`,
		new:  `for _, w := range []*Work{after} {`,
		harm: "a Work that somebody deletes is not made again",
	},
	{
		name: "waiting-sources-go-unseen", file: "mirror/enqueue.go",
		old:  `if id.WorkName() == gone.Name {`,
		new:  `if id.Name == gone.Name {`,
		harm: "a source whose Work was somebody else's is not mirrored when that goes",
	},
	{
		name: "rereads-outlive-their-source", file: "mirror/enqueue.go",
		old: `		c.rereads.drop(after.ID)
`,
		new: `		_ = after.ID
`,
		harm:       "what was read of an object before is believed over what the cache has since",
		equivalent: "rereads.instead compares the versions, so that dropping spares nothing but memory",
	},
}
