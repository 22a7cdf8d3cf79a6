package main

var ofPlan = []mutant{
	{
		name: "unlabelled-works-are-deleted", file: "mirror/judge/plan.go",
		old:  `		if w.Labelled {`,
		new:  `		if w.Name != "" {`,
		harm: "a Work whose label a user removed, to keep it, is deleted",
	},
	{
		name: "going-works-are-deleted-again", file: "mirror/judge/plan.go",
		old: `	case w.Terminating:
`,
		new:  ``,
		harm: "a Work that waits for its member is deleted again and again",
	},
	{
		name: "equal-works-are-written", file: "mirror/judge/plan.go",
		old:  `case w.Digest != wanted.Digest():`,
		new:  `case w.Digest != (render.Digest{}):`,
		harm: "a restart writes every Work",
	},
	{
		name: "recreated-sources-go-unseen", file: "mirror/judge/plan.go",
		old:  `case !w.IsMadeFrom(wanted.UID()):`,
		new:  `case false:`,
		harm: "the Work of a recreated source names the deleted one",
	},
	{
		name: "deleted-before-they-preserve", file: "mirror/judge/plan.go",
		old:  `case target.Amend && w.Labelled && !w.Terminating:`,
		new:  `case target.Amend && target.Decision == Wanted:`,
		harm: "an object that was to be preserved is deleted in the member",
	},
	{
		name: "deletes-before-creates", file: "mirror/judge/plan.go",
		old:  `return append(writes, deletes...)`,
		new:  `return append(deletes, writes...)`,
		harm: "an object that moves to another cluster is nowhere for a while",
	},
	{
		name: "wanted-works-stay-marked", file: "mirror/judge/plan.go",
		old:  `case w.Held != nil:`,
		new:  `case w.Held != nil && w.Name == "":`,
		harm: "a Work that is wanted again keeps its mark, and trips the breaker at the next restart",
	},
	{
		name: "stripped-labels-stay-away", file: "mirror/judge/plan.go",
		old:  `	case !w.IsComplete():`,
		new:  `	case !w.Labelled:`,
		harm: "a Work whose finalizer is gone leaves its object in the member when it is deleted",
	},
	{
		name: "unlabelled-works-are-due", file: "mirror/judge/plan.go",
		old:  `target.Decision == Unwanted) && w.Labelled && !w.Terminating {`,
		new:  `target.Decision == Unwanted) {`,
		harm: "Works that are not deleted trip the breaker for those that are",
	},
}
