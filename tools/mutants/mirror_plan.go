package main

var ofPlan = []mutant{
	{
		name: "unlabelled-works-are-deleted", file: "mirror/plan.go",
		old:  `		if w.Labelled {`,
		new:  `		if w.Name != "" {`,
		harm: "a Work whose label somebody took off, to keep it, is deleted",
	},
	{
		name: "going-works-are-deleted-again", file: "mirror/plan.go",
		old: `	case w.Terminating:
`,
		new:  ``,
		harm: "a Work that waits for its member is deleted again and again",
	},
	{
		name: "equal-works-are-written", file: "mirror/plan.go",
		old:  `case w.Digest != v.Template.Digest():`,
		new:  `case w.Digest != (render.Digest{}):`,
		harm: "a restart writes every Work",
	},
	{
		name: "recreated-sources-go-unseen", file: "mirror/plan.go",
		old:  `case !w.IsMadeFrom(v.Template.UID()):`,
		new:  `case false:`,
		harm: "the Work of a source that was made again names the one that is gone",
	},
	{
		name: "deletes-before-creates", file: "mirror/plan.go",
		old:  `return append(writes, deletes...)`,
		new:  `return append(deletes, writes...)`,
		harm: "an object that moves to another cluster is nowhere for a while",
	},
	{
		name: "wanted-works-stay-marked", file: "mirror/plan.go",
		old:  `case w.Held != nil:`,
		new:  `case w.Held != nil && w.Name == "":`,
		harm: "a Work that is wanted again keeps its mark, and trips the breaker at the next restart",
	},
	{
		name: "stripped-labels-stay-away", file: "mirror/plan.go",
		old:  `	case !w.complete():`,
		new:  `	case !w.Labelled:`,
		harm: "a Work whose finalizer is gone leaves its object in the member when it is deleted",
	},
}
