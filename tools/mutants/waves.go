package main

// ofWaves are mutants of what holds back new content, and of what repairs Works meanwhile.
var ofWaves = []mutant{
	{
		name: "waves-do-not-wait", file: "mirror/judge/waves.go",
		old:  `blockedBy = wave.String()`,
		new:  `_ = wave.String()`,
		harm: "a bad change is everywhere at once",
	},
	{
		name: "waves-have-room", file: "mirror/judge/waves.go",
		old:  `				room--`,
		new:  `				room += 0`,
		harm: "all clusters of a wave get a bad change at once",
	},
	{
		name: "those-under-way-take-no-room", file: "mirror/judge/waves.go",
		old:  `AtOnce(len(wave.Clusters)) - countOf(places, underWay)`,
		new:  `AtOnce(len(wave.Clusters)) - 0*countOf(places, underWay)`,
		harm: "clusters get a bad change although as many as allowed are failing with it",
	},
	{
		name: "what-is-under-way-is-through", file: "mirror/judge/waves.go",
		old:  `p.stage, p.because = underWay, "has just been written"`,
		new:  `p.stage, p.because = through, "has just been written"`,
		harm: "a wave begins by what the cache shows of the content before",
	},
	{
		name: "what-cannot-be-written-is-passed-over", file: "mirror/judge/waves.go",
		old:  `p.stage, p.because = stuck, "cannot be written: "+target.Because`,
		new:  `p.counts, p.because = false, "cannot be written: "+target.Because`,
		harm: "the later waves get what the first one could not even be given",
	},
	{
		name: "an-away-wave-is-through", file: "mirror/judge/waves.go",
		old:  `case p.isAway && areAway:`,
		new:  `case p.isAway && areAway && p.cluster == "":`,
		harm: "a change skips a wave that no one has tried",
	},
	{
		name: "the-away-hold-up", file: "mirror/judge/waves.go",
		old:  `case !p.isAway:`,
		new:  `default:`,
		harm: "one offline cluster blocks all",
	},
	{
		name: "the-suspended-get-content", file: "mirror/judge/waves.go",
		old:  `room > 0 && !p.isAway && p.counts:`,
		new:  `room > 0 && !p.isAway:`,
		harm: "what is written to a suspended Work takes effect later, whatever the waves have found out",
	},
	{
		name: "no-bake", file: "mirror/judge/waves.go",
		old:  `case !isSteady || steady < bake:`,
		new:  `case !isSteady:`,
		harm: "a change that fails after a minute is everywhere",
	},
	{
		name: "applied-is-enough", file: "mirror/judge/waves.go",
		old:  `bake = max(bake, f.LeastBake)`,
		new:  `bake = max(bake, 0)`,
		harm: "a wave begins because Karmada has applied the content before",
	},
	{
		name: "held-options", file: "mirror/judge/waves.go",
		old:  `t.Adjust = w.Held != nil || !w.IsComplete() ||`,
		new:  `t.Adjust = false && w.Held != nil || !w.IsComplete() && false ||`,
		harm: "a Work keeps the mark of a deletion that is no longer due, or its label is not repaired, until its wave",
	},
	{
		name: "edits-are-kept", file: "mirror/judge/waves.go",
		old:  `w.Notes().Written != "" && !w.IsAsWritten():`,
		new:  `w.Notes().Written == "" && !w.IsAsWritten():`,
		harm: "what another user has written into a Work stays in the member until its wave",
	},
	{
		name: "any-sibling-will-do", file: "mirror/judge/waves.go",
		old:  `isSame := noted != "" && w.Notes().Written == noted && w.IsAsWritten() || noted == "" && w.Digest == had.Digest`,
		new:  `isSame := noted != "" || noted == ""`,
		harm: "a cluster gets the content of another one",
	},
	{
		name: "siblings-are-suspended", file: "mirror/judge/waves.go",
		old: `t.options.Suspend == (w.State == state.WorkSuspended) && t.options.PreserveOnDeletion == w.Preserves()
}`,
		new: `true
}`,
		harm: "a repaired Work is suspended, or no longer",
	},
	{
		name: "a-share-waits-for-those-that-wait", file: "mirror/judge/waves.go",
		old:  `t.Decision, t.Because, t.Waits, t.Rises = Unknown, because, true, false`,
		new:  `t.Decision, t.Because, t.Waits = Unknown, because, true`,
		harm: "a rollout of divided replicas never ends: a cluster that gets fewer waits for later waves",
	},
	{
		name: "held-in-time", file: "mirror/judge/waves.go",
		old:  `if current == nil || v.Rollout.overdueIn(f) > 0 {`,
		new:  `if current == nil || v.Rollout.overdueIn(f) < 0 {`,
		harm: "no one hears of a wave that has failed",
	},
	{
		name: "notes-of-the-past", file: "mirror/judge/plan.go",
		old:  `case wanted.notes.Written != "" && w.Notes().Written != "" && !w.IsAsWritten():`,
		new:  `case wanted.notes.Written != "" && w.Notes().Written != "" && w.Name == "":`,
		harm: "a Work seems edited for ever, and is repaired with old content",
	},
	{
		name: "notes-for-all", file: "mirror/judge/plan.go",
		old:  `w.Notes().OfEdit() != wanted.notes.OfEdit()`,
		new:  `w.Notes() != wanted.notes`,
		harm: "each Work is written when waves are added to its source",
	},
	{
		name: "flapping-is-steady", file: "mirror/gather/waves.go",
		old:  `as.work != w.UID || as.digest != w.Digest`,
		new:  `as.work != w.UID`,
		harm: "a bake of the content before counts for the new one",
	},
	{
		name: "the-sick-are-steady", file: "mirror/gather/waves.go",
		old:  `if !w.IsWell() {`,
		new:  `if w.Cluster == "" {`,
		harm: "a wave begins before the one before is healthy",
	},
	{
		name: "old-pods-are-new", file: "render/aggregate/advance.go",
		old:  `if number(status, field) != number(status, rule.equal[0]) {`,
		new:  `if number(status, field) < 0 {`,
		harm: "a wave begins although the new Pods of the one before fail",
	},
	{
		name: "old-reports-are-believed", file: "render/aggregate/advance.go",
		old:  `case of < generation || `,
		new:  `case of < 0 || `,
		harm: "a wave begins by what the member reported of the content before",
	},
	{
		name: "our-deletions-are-vandalism", file: "mirror/write/vanished.go",
		old:  `ok && last.kind.Deletes() && last.work == w.UID`,
		new:  `ok && !last.kind.Deletes()`,
		harm: "a cluster that comes back gets old content, out of turn",
	},
}
