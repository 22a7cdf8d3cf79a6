package main

var ofObserved = []mutant{
	{
		name: "any-manager-is-us", file: "mirror/observed.go",
		old:  `w.Labelled = labels[render.ManagedByLabel] == render.ManagedByValue`,
		new:  `_, w.Labelled = labels[render.ManagedByLabel]`,
		harm: "a Work that another tool manages is deleted",
	},
	{
		name: "forged-sources", file: "mirror/observed.go",
		old:  `if err != nil || id.WorkName() != w.Name || w.Cluster == "" {`,
		new:  `if err != nil || w.Cluster == "" {`,
		harm: "a Work that anybody annotates is deleted",
	},
	{
		name: "works-of-no-cluster", file: "mirror/observed.go",
		old:  `id.WorkName() != w.Name || w.Cluster == "" {`,
		new:  `id.WorkName() != w.Name {`,
		harm: "a Work outside of an execution namespace is deleted",
	},
	{
		name: "marked-works-are-ours", file: "mirror/observed.go",
		old: `	case mark.Text != "":
`,
		new: `	case mark.Text != "" && !mark.Binding:
`,
		harm: "a Work that a binding has taken is overwritten and deleted",
	},
	{
		name: "given-back-by-all", file: "mirror/observed.go",
		old:  `if mark.Text == "" || mark.Binding {`,
		new:  `if w.Name != "" {`,
		harm: "a Work is taken from a controller that is no binding's",
	},
	{
		name: "poison-works-are-ours", file: "mirror/observed.go",
		old:  `func(cause string) *Work { bare.Foreign = cause; return bare })`,
		new:  `func(cause string) *Work { _ = cause; return bare })`,
		harm: "nobody is told why a Work that cannot be read is left alone",
	},
	{
		name: "edits-mean-the-same", file: "mirror/observed.go",
		old:  `		w.Digest == x.Digest && (w.Held`,
		new:  `		(w.Held`,
		harm: "an edited Work is not repaired",
	},
	{
		name: "marks-mean-the-same", file: "mirror/observed.go",
		old:  `(w.Held == nil) == (x.Held == nil) && `,
		new:  ``,
		harm: "a mark that somebody takes off is not put on again, and the next leader deletes",
	},
	{
		name: "foreign-means-the-same", file: "mirror/observed.go",
		old:  `w.Foreign == x.Foreign && equal(w.Handed, x.Handed) &&`,
		new:  `equal(w.Handed, x.Handed) &&`,
		harm: "a Work that a binding takes or gives back is not looked at",
	},
	{
		name: "namesakes-mean-the-same", file: "mirror/observed.go",
		old:  `return w.UID == x.UID && w.Source == x.Source`,
		new:  `return w.Source == x.Source`,
		harm: "a Work that was deleted and made again by somebody else is not looked at",
	},
	{
		name: "unlabelled-means-the-same", file: "mirror/observed.go",
		old:  `w.Labelled == x.Labelled && w.complete() == x.complete() && `,
		new:  ``,
		harm: "labels that somebody takes off stay away",
	},
	{
		name: "going-means-the-same", file: "mirror/observed.go",
		old: ` && w.Terminating == x.Terminating
`,
		new: `
`,
		harm: "that a deletion has begun is not noticed",
	},
	{
		name: "complete-without-finalizer", file: "mirror/observed.go",
		old:  `return w.Labelled && w.Findable && slices.Contains(w.Finalizers, render.ExecutionFinalizer)`,
		new:  `return w.Labelled && w.Findable && len(slices.Clone(w.Finalizers)) >= 0`,
		harm: "a Work whose finalizer is gone leaves its object in the member when it is deleted",
	},
	{
		name: "poison-panics", file: "mirror/guard.go",
		old:  `if cause := recover(); cause != nil {`,
		new:  `if cause := any(nil); cause != nil {`,
		harm: "one object that cannot be read stops the daemon at every start",
	},
	{
		name: "panics-are-repeated", file: "mirror/guard.go",
		old:  `return fmt.Sprintf("a panic with a %T", cause)`,
		new:  `return fmt.Sprintf("a panic with %v", cause)`,
		harm: "a part of a Secret is in the log",
	},
}
