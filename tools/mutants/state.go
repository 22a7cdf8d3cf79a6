package main

var ofState = []mutant{
	{
		name: "skip-labels-are-compared-as-they-are", file: "mirror/state/namespace.go",
		old:  `strings.ToLower(n.Labels[policyv1alpha1.NamespaceSkipAutoPropagationLabel]) == "true"`,
		new:  `strings.TrimSpace(n.Labels[policyv1alpha1.NamespaceSkipAutoPropagationLabel]) == "true"`,
		harm: "no one hears that the Namespace of an object is missing in the members",
	},
	{
		name: "any-manager-is-us", file: "mirror/state/work.go",
		old:  `w.Labelled = labels[render.ManagedByLabel] == render.ManagedByValue`,
		new:  `_, w.Labelled = labels[render.ManagedByLabel]`,
		harm: "a Work that another tool manages is deleted",
	},
	{
		name: "forged-sources", file: "mirror/state/work.go",
		old:  `if err != nil || id.WorkName() != w.Name && id.LongWorkName() != w.Name || w.Cluster == "" {`,
		new:  `if err != nil || w.Cluster == "" {`,
		harm: "a Work that anyone annotates is deleted",
	},
	{
		name: "works-of-no-cluster", file: "mirror/state/work.go",
		old:  ` && id.LongWorkName() != w.Name || w.Cluster == "" {`,
		new:  ` && id.LongWorkName() != w.Name {`,
		harm: "a Work outside an execution namespace is deleted",
	},
	{
		name: "whatever-it-carries-it-is-ours", file: "mirror/state/work.go",
		old:  `case render.CarriedBy(obj.Object) != w.Source:`,
		new:  `case obj.Object == nil:`,
		harm: "another tenant's Namespace is deleted in a member, through a Work whose name was squatted",
	},
	{
		name: "what-is-empty-is-overwritten", file: "mirror/state/work.go",
		old:  `w.Carries() != w.Source && w.Carries() != render.Identity{}`,
		new:  `w.Carries() != w.Source`,
		harm: "our marks are removed from a Work that may still carry our object",
	},
	{
		name: "marked-works-are-ours", file: "mirror/state/work.go",
		old: `	case mark.Text != "":
`,
		new: `	case mark.Text != "" && !mark.Binding:
`,
		harm: "a Work that a binding has taken is overwritten and deleted",
	},
	{
		name: "given-back-by-all", file: "mirror/state/work.go",
		old:  `mark.Text != "" && !mark.Binding {`,
		new:  `mark.Text != "" && w.Name == "" {`,
		harm: "a Work is taken from a controller that is not a binding's",
	},
	{
		name: "poison-works-are-ours", file: "mirror/state/work.go",
		old:  `func(cause string) *Work { bare.Foreign = cause; return bare })`,
		new:  `func(cause string) *Work { _ = cause; return bare })`,
		harm: "no one learns why a Work that cannot be read is left alone",
	},
	{
		name: "complete-without-finalizer", file: "mirror/state/work.go",
		old:  `return w.Labelled && w.Findable && slices.Contains(w.Finalizers, render.ExecutionFinalizer)`,
		new:  `return w.Labelled && w.Findable && len(slices.Clone(w.Finalizers)) >= 0`,
		harm: "a Work whose finalizer is gone leaves its object in the member when it is deleted",
	},
	{
		name: "poison-panics", file: "mirror/state/guard.go",
		old:  `if cause := recover(); cause != nil {`,
		new:  `if cause := any(nil); cause != nil {`,
		harm: "one object that cannot be read stops the daemon at every start",
	},
	{
		name: "panics-are-repeated", file: "mirror/state/guard.go",
		old:  `return fmt.Sprintf("a panic with a %T", cause)`,
		new:  `return fmt.Sprintf("a panic with %v", cause)`,
		harm: "part of a Secret appears in the log",
	},
	{
		name: "newer-passes-for-older", file: "mirror/state/version.go",
		old:  `return err == nil && order < 0`,
		new:  `return err != nil || order < 0`,
		harm: "where versions cannot be compared, no cache is ever believed",
	},
	{
		name: "parted-although-not-preserved", file: "mirror/state/work.go",
		old:  `return w.Terminating && w.Preserves() && slices`,
		new:  `return w.Terminating && slices`,
		harm: "an object that should be deleted with its Work stays in the member",
	},
	{
		name: "parted-before-its-deletion", file: "mirror/state/work.go",
		old:  `return w.Terminating && w.Preserves() && slices`,
		new:  `return w.Preserves() && slices`,
		harm: "a Work that is wanted loses its finalizer",
	},
}
