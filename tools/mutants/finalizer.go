package main

// ofFinalizers are mutants of what decides when a source has our finalizer, and when it may go.
var ofFinalizers = []mutant{
	{
		name: "finalizer-without-clusters", file: "mirror/judge/finalizer.go",
		old:  `s.Foreground && s.Asks && s.Refusal == nil`,
		new:  `s.Foreground && s.Refusal == nil`,
		harm: "an object that is mirrored nowhere gets a finalizer",
	},
	{
		name: "finalizer-too-late", file: "mirror/judge/finalizer.go",
		old:  ` && s.Deleted.IsZero()`,
		new:  ``,
		harm: "each sync of an object that is being deleted tries what the API server forbids",
	},
	{
		name: "finalizer-of-the-refused-goes", file: "mirror/judge/finalizer.go",
		old:  "\tcase s.Refusal != nil:\n\t\treturn LeaveFinalizer\n",
		new:  ``,
		harm: "a misspelt annotation takes the finalizer off",
	},
	{
		name: "released-with-works", file: "mirror/judge/finalizer.go",
		old:  `s.Asks || j.Facts.remaining() != nil`,
		new:  `s.Asks`,
		harm: "an object is gone while its Works exist",
	},
	{
		name: "kept-without-a-wish", file: "mirror/judge/finalizer.go",
		old:  `case !s.Foreground:`,
		new:  `case !s.Foreground && !s.Leaving:`,
		harm: "a user cannot release an object while a member is away",
	},
	{
		name: "strangers-keep-a-source", file: "mirror/state/work.go",
		old:  `w.Source == source && w.Labelled && w.Foreign == ""`,
		new:  `w.Source == source && w.Labelled`,
		harm: "an object waits forever for the Work of a policy",
	},
	{
		name: "leaving-is-refused", file: "mirror/judge/source.go",
		old:  "\tcase s.Leaving: // as if it did not exist\n",
		new:  ``,
		harm: "an annotation that cannot be read keeps a deleted object forever",
	},
	{
		name: "leaving-asks", file: "mirror/judge/source.go",
		old:  ` && !o.IsLeaving()`,
		new:  ``,
		harm: "a deleted object is still mirrored",
	},
	{
		name: "released-by-the-cache", file: "mirror/finalizer.go",
		old:  `err == nil && len(works) > 0`,
		new:  `err == nil && len(works) < 0`,
		harm: "an object is gone while a Work exists that the cache does not know yet",
	},
	{
		name: "works-before-the-finalizer", file: "mirror/sync.go",
		old:  `err != nil && j.Finalizer() == judge.AddFinalizer`,
		new:  `err != nil && j.Finalizer() == judge.ReleaseSource`,
		harm: "an object that is deleted soon is gone while its Works exist",
	},
	{
		name: "finalizer-is-contested-forever", file: "mirror/finalizer.go",
		old:  `if changed && wanted {`,
		new:  `if changed && !wanted {`,
		harm: "two controllers write the same object in a loop",
	},
	{
		name: "finalizer-of-another", file: "mirror/write/finalizer.go",
		old:  `u.GetUID() != uid || `,
		new:  ``,
		harm: "a recreated object gets or loses a finalizer by what the earlier one asked for",
	},
	{
		name: "departed-are-forgotten", file: "mirror/controller.go",
		old:  "\tc.departures.add(departing(before, configuration))\n",
		new:  ``,
		harm: "an object that has left the configuration can never be deleted",
	},
	{
		name: "departed-although-back", file: "mirror/departures.go",
		old:  `!c.caches.Includes(left.resource.GroupResource(), id.Namespace)`,
		new:  `true`,
		harm: "an object that is back in the configuration loses its finalizer",
	},
	{
		name: "foreign-finalizers-go-too", file: "mirror/write/finalizer.go",
		old:  `return of == render.WorksFinalizer })`,
		new:  `return of != "" })`,
		harm: "other controllers' finalizers are removed, and what they clean up is left behind",
	},
}
