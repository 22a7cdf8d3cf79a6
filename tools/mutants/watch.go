package main

// ofWatch are mutants of the informers.
var ofWatch = []mutant{
	{
		name: "tombstones-stay-wrapped", file: "watch/watch.go",
		old:  `old = tombstone.Obj`,
		new:  `_ = tombstone`,
		harm: "an object that was deleted while the watch was away keeps its Works",
	},
	{
		name: "half-a-cache-answers", file: "watch/status.go",
		old: `	if !w.synced {
		return nil, false, false`,
		new: `	if w.informer == nil {
		return nil, false, false`,
		harm: "an object that has not been listed yet counts as missing",
	},
	{
		name: "failed-discovery-proves", file: "watch/watch.go",
		old:  `w.err, w.unserved = err, w.unserved || err == nil`,
		new:  `w.err, w.unserved = err, true`,
		harm: "a failed discovery reports a resource as gone, and its objects with it",
	},
	{
		name: "failed-discovery-ends-a-watch", file: "watch/watch.go",
		old:  `if err == nil && (!ok || now != served) {`,
		new:  `if err != nil || !ok || now != served {`,
		harm: "each hiccup of discovery relists everything",
	},
	{
		name: "transform-twice", file: "watch/transform.go",
		old:  `return obj, nil`,
		new:  `return nil, nil`,
		harm: "the objects of a streaming list, which arrive twice, are lost",
	},
	{
		name: "synced-too-early", file: "watch/watch.go",
		old:  `w.awaitSynced(ctx, registration.HasSynced)`,
		new:  `w.awaitSynced(ctx, func() bool { return registration != nil })`,
		harm: "objects that have not been listed yet count as missing",
	},
	{
		name: "events-pass-for-objects", file: "watch/client.go",
		old:  `u.GetAPIVersion() == "v1" && u.GetKind() == "Status"`,
		new:  `u.GetAPIVersion() == ""`,
		harm: "the error that ends a watch is kept as an object",
	},
	{
		name: "long-lists-have-stalled", file: "watch/stall.go",
		old:  `w.listBrought = w.Clock.Now()`,
		new:  `w.listBrought = w.listBegan`,
		harm: "a list of very many objects starts over as a plain one, which takes gigabytes",
	},
	{
		name: "endless-lists-go-on", file: "watch/stall.go",
		old:  `if created.Before(w.listBegan) {`,
		new:  `if !created.IsZero() {`,
		harm: "a stream whose end never comes is never restarted while objects are created",
	},
}
