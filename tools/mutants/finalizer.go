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
		name: "released-with-works", file: "mirror/judge/finalizer.go",
		old:  ` && j.Facts.remaining() == nil`,
		new:  ``,
		harm: "an object is gone while its Works exist",
	},
	{
		name: "kept-without-a-wish", file: "mirror/judge/finalizer.go",
		old:  "\tcase !s.Foreground:\n",
		new:  "\tcase !s.Foreground && !s.Leaving:\n",
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
		old:  ` && !isLeaving(o, wishes)`,
		new:  ``,
		harm: "a deleted object is still mirrored",
	},
	{
		name: "released-by-the-cache", file: "mirror/finalizer.go",
		old:  `return len(works) > 0, err`,
		new:  `return len(works) < 0, err`,
		harm: "an object is gone while a Work exists that the cache does not know yet",
	},
	{
		name: "works-before-the-finalizer", file: "mirror/sync.go",
		old:  ` || op.Kind == judge.Create && noFinalizer`,
		new:  ``,
		harm: "an object that is deleted soon is gone while its Works exist",
	},
	{
		name: "finalizer-is-contested-forever", file: "mirror/finalizer.go",
		old:  "\tif changed && wanted {\n\t\tf.undone",
		new:  "\tif changed && !wanted {\n\t\tf.undone",
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
		old:  `c.departures.add(c.departing(last))`,
		new:  `_ = c.departing(last)`,
		harm: "an object that has left the configuration can never be deleted",
	},
	{
		name: "departed-although-back", file: "mirror/departures.go",
		old:  `if err == nil && !isBack {`,
		new:  `if err == nil {`,
		harm: "an object that is back in the configuration loses its finalizer",
	},
	{
		name: "foreign-finalizers-go-too", file: "mirror/write/finalizer.go",
		old:  `return of == render.WorksFinalizer })`,
		new:  `return of != "" })`,
		harm: "other controllers' finalizers are removed, and what they clean up is left behind",
	},
	{
		name: "others-departures", file: "mirror/departures.go",
		old:  `return last.Includes(gr, namespace) && `,
		new:  `return `,
		harm: "a reload of one daemon releases the objects of another",
	},
	{
		name: "departures-for-ever", file: "mirror/departures.go",
		old:  `c.Clock.Since(left.at) > departurePeriod`,
		new:  `c.Clock.Since(left.at) < 0`,
		harm: "a standby that leads a day later releases the objects of another daemon",
	},
	{
		name: "released-by-the-cached-wish", file: "mirror/finalizer.go",
		old:  `if j.Finalizer() != judge.RemoveFinalizer {`,
		new:  `if j.Finalizer() == judge.AddFinalizer {`,
		harm: "an object is gone while its Work exists, because the cache was behind",
	},
	{
		name: "own-writes-do-not-count", file: "mirror/finalizer.go",
		old:  `case f.ledger.AwaitsAny(id):`,
		new:  `case false:`,
		harm: "an object is gone while a Work exists that the watch has not shown",
	},
	{
		name: "workloads-come-back", file: "mirror/judge/source.go",
		old:  `(o.Finalized || isForeground(o, wishes))`,
		new:  `o.Finalized`,
		harm: "the Works of a deleted object are created again while another finalizer keeps it",
	},
	{
		name: "definitions-of-the-leaving", file: "mirror/gather/live.go",
		old:  `if f.Source.Leaving {`,
		new:  `if false {`,
		harm: "objects that go with their definition are deleted without an approval",
	},
	{
		name: "unshown-creations-do-not-count", file: "mirror/finalizer.go",
		old:  `case f.ledger.MayHaveCreated(id), state`,
		new:  `case state`,
		harm: "an object is gone while a Work exists whose creation had no answer",
	},
	{
		name: "unshown-finalizers-stay", file: "mirror/departures.go",
		old:  `range c.finalizers.notShown()`,
		new:  `range map[render.Identity]departure(nil)`,
		harm: "an object that leaves the configuration can never be deleted",
	},
	{
		name: "late-events-show-creations", file: "mirror/write/unshown.go",
		old:  `ok && state.IsOlder(made.version, w.ResourceVersion)`,
		new:  `ok && made.version != w.ResourceVersion+"x"`,
		harm: "an object is gone while a Work exists whose creation had no answer, if handlers lag",
	},
	{
		name: "back-for-a-moment", file: "mirror/departures.go",
		old:  `if isBack && c`,
		new:  `if !isBack && c`,
		harm: "an object whose resource leaves the configuration twice can never be deleted",
	},
}
