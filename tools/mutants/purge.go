package main

var ofPurge = []mutant{
	{
		name: "purge-takes-what-is-marked", file: "mirror/purge/purge.go",
		old:  `if w.Foreign != "" || !w.Labelled || w.Terminating`,
		new:  `if !w.Labelled || w.Terminating`,
		harm: "purge deletes a Work of another controller",
	},
	{
		name: "purge-takes-what-is-configured", file: "mirror/purge/purge.go",
		old:  `return ok && r.SelectsNamespace(namespace)`,
		new:  `return ok && r.SelectsNamespace("")`,
		harm: "purge deletes what a daemon mirrors",
	},
	{
		name: "purge-takes-namesakes", file: "mirror/purge/purge.go",
		old:  `case again.UID != w.UID || !l.takes(again):`,
		new:  `case !l.takes(again):`,
		harm: "purge deletes a Work that was recreated since it was listed",
	},
}
