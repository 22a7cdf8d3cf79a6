package main

import "slices"

// ofMirror are mutants of the controller.
var ofMirror = slices.Concat(ofDecide, ofPlan, ofBreaker, ofLedger, ofObserved, ofSource, ofFacts, ofSync, ofEnqueue)

var ofDecide = []mutant{
	{
		name: "orphans-go-without-a-live-read", file: "mirror/decide.go",
		old:  `if !f.Live {`,
		new:  `if !f.Live && f.Source != nil {`,
		harm: "a cache that has lost an object deletes it in every member",
	},
	{
		name: "targets-go-without-a-live-read", file: "mirror/decide.go",
		old:  `if !f.Live {`,
		new:  `if !f.Live && f.Source == nil {`,
		harm: "a cache that lags deletes what has been asked for since",
	},
	{
		name: "foreign-works-are-deleted", file: "mirror/decide.go",
		old: `		return Target{Decision: Unknown, Because: owner}
`,
		new: `		_ = owner
`,
		harm: "a Work of another controller is deleted",
	},
	{
		name: "foreign-marks-are-ignored", file: "mirror/decide.go",
		old:  `case w.Foreign != "":`,
		new:  `case w.Foreign != "" && !w.names():`,
		harm: "a Work that another controller has marked is overwritten and deleted",
	},
	{
		name: "same-name-is-same-source", file: "mirror/decide.go",
		old: `	case w.Source != f.ID:
`,
		new: `	case w.Source.Name != f.ID.Name:
`,
		harm: "of two sources whose Works have one name, each overwrites the other's",
	},
	{
		name: "unknown-deletes", file: "mirror/decide.go",
		old: `	case f.Unknown != "":
`,
		new: `	case f.Unknown != "" && f.Source != nil:
`,
		harm: "what is not in the configuration any more is deleted in every member",
	},
	{
		name: "refusals-delete", file: "mirror/decide.go",
		old:  `return Target{Decision: Unknown, Because: string(f.Source.Refusal.Reason)`,
		new:  `return Target{Decision: Unwanted, Because: string(f.Source.Refusal.Reason)`,
		harm: "an annotation that cannot be parsed deletes the object everywhere",
	},
	{
		name: "missing-clusters-delete", file: "mirror/decide.go",
		old:  `if f.Source.Terms.HasSelector() && f.Clusters[cluster].State == ClusterMissing {`,
		new:  `if f.Source.Terms.HasSelector() && f.Clusters[cluster].State == ClusterTerminating {`,
		harm: "a cluster whose labels nobody knows loses what they have chosen it for",
	},
	{
		name: "leaving-clusters-are-written-to", file: "mirror/decide.go",
		old:  `return Target{Decision: Unknown, Because: "the cluster is being removed"}, nil`,
		new:  `return Target{Decision: Wanted, Because: "the cluster is being removed"}, nil`,
		harm: "a cluster never goes, for its Works are created again",
	},
	{
		name: "definitions-take-their-objects", file: "mirror/decide.go",
		old:  `NeedsApproval: f.Definition != DefinitionServed || `,
		new:  `NeedsApproval: `,
		harm: "one CustomResourceDefinition deleted by mistake empties every member",
	},
	{
		name: "old-definitions-take-their-objects", file: "mirror/decide.go",
		old:  ` || f.Source == nil && f.outlived()}`,
		new:  `}`,
		harm: "a CustomResourceDefinition that is deleted and made again empties every member",
	},
	{
		name: "outlived-the-other-way", file: "mirror/decide.go",
		old:  `w.sourceCreated.time().Before(f.DefinitionCreated)`,
		new:  `w.sourceCreated.time().After(f.DefinitionCreated)`,
		harm: "ordinary deletions wait for an approval, and those by a definition do not",
	},
	{
		name: "rules-do-not-hold", file: "mirror/decide.go",
		old:  `if f.Clusters[cluster].Forbidden {`,
		new:  `if f.Clusters[cluster].Forbidden && f.Works[cluster] == nil {`,
		harm: "an object is updated where the configuration does not allow it any more",
	},
	{
		name: "claims-release-what-others-have", file: "mirror/decide.go",
		old:  `f.Source.Refusal.Reason == ClaimedByPolicy && isOf(f, cluster):`,
		new:  `f.Source.Refusal.Reason == ClaimedByPolicy && f.Works[cluster] != nil:`,
		harm: "a policy's claim on one object takes our name off the Work of another",
	},
	{
		name: "handed-works-are-taken-from-others", file: "mirror/decide.go",
		old:  ` && (w.Source == f.ID || !w.names()) {`,
		new:  ` {`,
		harm: "a Work that was ours once is taken from the source that it is of now",
	},
	{
		name: "works-of-others-are-woken", file: "mirror/decide.go",
		old:  ` && f.Unknown == "" && w.Source == f.ID {`,
		new:  ` && f.Unknown == "" {`,
		harm: "two sources wake one Work in turn",
	},
}

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

var ofBreaker = []mutant{
	{
		name: "breaker-trips-one-early", file: "mirror/breaker.go",
		old:  `n <= threshold.Works {`,
		new:  `n < threshold.Works {`,
		harm: "what the threshold allows is held",
	},
	{
		name: "breaker-trips-one-late", file: "mirror/breaker.go",
		old:  `n <= threshold.Works {`,
		new:  `n <= threshold.Works+1 {`,
		harm: "one more than the threshold allows is deleted",
	},
	{
		name: "breaker-forgets-the-share", file: "mirror/breaker.go",
		old:  `return n*100 > threshold.Percent*(c.total+len(c.made))`,
		new:  `return true`,
		harm: "an ordinary day's deletions in a large fleet are held",
	},
	{
		name: "breaker-holds-the-share-itself", file: "mirror/breaker.go",
		old:  `return n*100 > threshold.Percent*`,
		new:  `return n*100 >= threshold.Percent*`,
		harm: "the share that the threshold allows is held",
	},
	{
		name: "breaker-forgets-what-was-there", file: "mirror/breaker.go",
		old:  `threshold.Percent*(c.total+len(c.made))`,
		new:  `threshold.Percent*c.total`,
		harm: "the share is of what is left, so that slow deletions trip it",
	},
	{
		name: "breaker-forgets-what-it-let-go", file: "mirror/breaker.go",
		old:  `n := c.count() + len(c.made)`,
		new:  `n := c.count()`,
		harm: "a fast stream of single deletions empties every member",
	},
	{
		name: "short-window", file: "mirror/breaker.go",
		old:  `breakerWindow = 10 * time.Minute`,
		new:  `breakerWindow = 5 * time.Minute`,
		harm: "a slower stream of deletions than the docs say empties every member",
	},
	{
		name: "long-window", file: "mirror/breaker.go",
		old:  `breakerWindow = 10 * time.Minute`,
		new:  `breakerWindow = 20 * time.Minute`,
		harm: "deletions of long ago hold back those of today",
	},
	{
		name: "one-object-trips-the-breaker", file: "mirror/breaker.go",
		old:  `if len(sources) < 2 {`,
		new:  `if len(sources) < 1 {`,
		harm: "what somebody does to a single object by hand is held",
	},
	{
		name: "no-object-trips-the-breaker", file: "mirror/breaker.go",
		old:  `if len(sources) < 2 {`,
		new:  `if len(sources) < 3 {`,
		harm: "two objects on very many clusters are deleted at once",
	},
	{
		name: "marks-do-not-last", file: "mirror/breaker.go",
		old:  `c.tripped = c.tripped || w.Held != nil && !b.isApprovedLocked(resource, w)`,
		new:  `_ = w`,
		harm: "a restart lets go what is held",
	},
	{
		name: "old-approvals-hold-for-ever", file: "mirror/breaker.go",
		old:  `!w.Held.Since.After(b.approved[resource])`,
		new:  `!b.approved[resource].IsZero()`,
		harm: "an approval of last year lets go what is held today",
	},
	{
		name: "approvals-miss-the-last", file: "mirror/breaker.go",
		old:  `!w.Held.Since.After(b.approved[resource])`,
		new:  `w.Held.Since.Before(b.approved[resource])`,
		harm: "what was held last is not let go by the approval that was given for it",
	},
	{
		name: "approvals-cover-what-is-not-held", file: "mirror/breaker.go",
		old:  `return w.Held != nil && !w.Held.Since.After(b.approved[resource])`,
		new:  `return w.Held == nil && !b.approved[resource].IsZero() || w.Held != nil && !w.Held.Since.After(b.approved[resource])`,
		harm: "an approval turns the breaker off for the resource",
	},
	{
		name: "approved-deletions-count", file: "mirror/breaker.go",
		old:  `	if !approved {`,
		new:  `	if source.Name != "" {`,
		harm: "after an approval the next deletion by hand is held",
	},
	{
		name: "nothing-settles", file: "mirror/breaker.go",
		old:  `!ok || now.Sub(p.since) < b.settle {`,
		new:  `!ok || p == nil {`,
		harm: "the first of a burst are deleted before the others are counted",
	},
	{
		name: "more-targets-settle-at-once", file: "mirror/breaker.go",
		old:  `if !ok || len(works) > p.works {`,
		new:  `if !ok {`,
		harm: "clusters that are taken off one by one are not counted together",
	},
	{
		name: "no-approval-is-needed", file: "mirror/breaker.go",
		old:  `trips := needsApproval || c.exceeds`,
		new:  `trips := c.exceeds`,
		harm: "what goes with its definition is deleted without an approval",
	},
	{
		name: "breaker-does-not-close", file: "mirror/breaker.go",
		old:  `c.tripped, c.told = false, 0`,
		new:  `c.told = 0`,
		harm: "once tripped, the breaker holds every deletion until the next restart",
	},
	{
		name: "off-is-not-off", file: "mirror/breaker.go",
		old:  `held: c.tripped && (needsApproval || b.threshold.Works > 0), pending`,
		new:  `held: c.tripped, pending`,
		harm: "a breaker that was turned off holds what it has held before",
	},
	{
		name: "marks-from-before-the-approval", file: "mirror/breaker.go",
		old:  `now.Before(earliest) {`,
		new:  `now.Before(earliest) && earliest.IsZero() {`,
		harm: "an approval by a clock that is ahead lets go what is held after it",
	},
}

var ofLedger = []mutant{
	{
		name: "ping-pong-with-admission", file: "mirror/ledger.go",
		old:  `case rewrites && e.wasAltered(op.Work):`,
		new:  `case false:`,
		harm: "a Work that a webhook alters is written for ever",
	},
	{
		name: "edits-pass-for-admission", file: "mirror/ledger.go",
		old:  `return onlySpec && w.Generation == e.written.generation`,
		new:  `return onlySpec`,
		harm: "an edited Work is never repaired",
	},
	{
		name: "writes-are-repeated", file: "mirror/ledger.go",
		old:  `return holdback{refusal: e.refusal, retry: left}, true`,
		new:  `return holdback{}, false`,
		harm: "each write is made again until the watch has caught up",
	},
	{
		name: "lost-writes-are-waited-for", file: "mirror/ledger.go",
		old: `	case left <= 0:
`,
		new: `	case left < -100*peace:
`,
		harm: "a write that is lost is never made again",
	},
	{
		name: "edits-since-are-waited-out", file: "mirror/ledger.go",
		old:  `case rewrites && !isOlder(op.Work.ResourceVersion, e.written.version):`,
		new:  `case false:`,
		harm: "an edited Work is repaired half a minute later",
	},
	{
		name: "deletions-of-namesakes", file: "mirror/ledger.go",
		old:  `return ok && e.write == write{kind: Delete, work: w.UID} && `,
		new:  `return ok && e.kind == Delete && `,
		harm: "a Work that was made again after a deletion is not counted by the breaker",
	},
	{
		name: "lost-deletions-are-never-due", file: "mirror/ledger.go",
		old: ` && l.clock.Now().Before(e.until)
}`,
		new: `
}`,
		harm: "a Work that comes back with a backup of etcd is never deleted again",
	},
	{
		name: "early-events-settle", file: "mirror/ledger.go",
		old:  ` || isOlder(w.ResourceVersion, e.written.version) || `,
		new:  ` || `,
		harm: "an event from before our write passes for its echo",
	},
	{
		name: "altered-works-settle", file: "mirror/ledger.go",
		old:  ` || !w.says(e.write) {`,
		new:  ` {`,
		harm: "what admission has altered passes for what was written, and is never looked at",
	},
	{
		name: "going-works-settle", file: "mirror/ledger.go",
		old: ` && w.Foreign == "" && !w.Terminating
`,
		new: ` && w.Foreign == ""
`,
		harm: "a Work that is deleted before we hear of our write is not created again",
	},
	{
		name: "marked-works-settle", file: "mirror/ledger.go",
		old:  `w.complete() && w.Held == nil && w.Foreign == "" && !w.Terminating`,
		new:  `w.complete() && w.Foreign == "" && !w.Terminating`,
		harm: "a Work that bears a mark passes for what was written, and keeps it",
	},
	{
		name: "as-large-is-tried-again", file: "mirror/ledger.go",
		old:  `t.Size() >= e.size`,
		new:  `t.Size() > e.size`,
		harm: "megabytes that cannot be written are sent at each change",
	},
	{
		name: "contests-have-no-pause", file: "mirror/ledger.go",
		old:  `if c.writes < uncontested {`,
		new:  `if c.writes >= uncontested {`,
		harm: "a Work with two writers is written as fast as both can",
	},
	{
		name: "contests-never-end", file: "mirror/ledger.go",
		old:  `now.Sub(time.Unix(0, c.last)) > peace`,
		new:  `now.Sub(time.Unix(0, c.last)) > 100*peace`,
		harm: "a Work that was edited often last week is repaired late today",
	},
	{
		name: "other-content-waits", file: "mirror/ledger.go",
		old:  `(e.write == w || e.isAsLarge(op, t))`,
		new:  `(e.kind == w.kind || e.isAsLarge(op, t))`,
		harm: "a change that is made right after another is written half a minute later",
	},
	{
		name: "newer-passes-for-older", file: "mirror/ledger.go",
		old:  `return err == nil && order < 0`,
		new:  `return err != nil || order < 0`,
		harm: "where versions cannot be compared, no cache is ever believed",
	},
}

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

var ofSource = []mutant{
	{
		name: "claims-are-fought", file: "mirror/source.go",
		old:  `render.ClaimedBy(obj.GetLabels(), annotations); claimed {`,
		new:  `render.ClaimedBy(obj.GetLabels(), annotations); claimed && s.UID == "" {`,
		harm: "the Work of an object that a policy propagates is fought for",
	},
	{
		name: "claims-without-asking-delete", file: "mirror/source.go",
		old: `			s.Refusal = claimed
`,
		new: `			_ = claimed
`,
		harm: "an object that goes over to a policy is deleted in the members",
	},
	{
		name: "reserved-namespaces-are-mirrored", file: "mirror/source.go",
		old:  `if render.ReservedNamespace(s.ID.Namespace) {`,
		new:  `if render.ReservedNamespace(s.ID.Name) {`,
		harm: "a member's kube-system is overwritten with the control plane's",
	},
	{
		name: "system-objects-are-mirrored", file: "mirror/source.go",
		old:  `if render.SystemOf(obj) == render.SystemOwn {`,
		new:  `if render.SystemOf(obj) == render.SystemRecord {`,
		harm: "the members' pods trust the control plane's certificate instead of their own",
	},
	{
		name: "namespaces-mirror-their-system", file: "mirror/source.go",
		old:  `if !own.Ask() && render.SystemOf(obj) != render.NotSystem {`,
		new:  `if own.Ask() && render.SystemOf(obj) != render.NotSystem {`,
		harm: "a Namespace with a default mirrors Helm's releases, which are not the members'",
	},
	{
		name: "opting-out-of-nothing-deletes", file: "mirror/source.go",
		old: `			s.Refusal = noOptOut
`,
		new: `			_ = noOptOut
`,
		harm: "an empty variable in somebody's template deletes the object everywhere",
	},
	{
		name: "namesake-sources-mean-the-same", file: "mirror/source.go",
		old:        `if s.UID != t.UID || s.Asks != t.Asks || `,
		new:        `if s.Asks != t.Asks || `,
		harm:       "the Works of a source that was made again name the one that is gone",
		equivalent: "the manifest carries the UID, so that the digest differs too; without a manifest there is nothing to write",
	},
	{
		name: "retargeted-means-the-same", file: "mirror/source.go",
		old:  `return s.Terms.Equal(t.Terms)`,
		new:  `return true`,
		harm: "an object does not go to the cluster that was added",
	},
	{
		name: "edited-sources-mean-the-same", file: "mirror/source.go",
		old:  `if s.Template != nil && s.Template.Digest() != t.Template.Digest() {`,
		new:  `if s.Template != nil && s.Template.Size() != t.Template.Size() {`,
		harm: "an edit of an object does not reach the members",
	},
}

var ofFacts = []mutant{
	{
		name: "any-404-proves", file: "mirror/facts.go",
		old: `		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) &&
`,
		new:  ``,
		harm: "a path that is not served deletes every object of the kind",
	},
	{
		name: "the-404-of-another-proves", file: "mirror/facts.go",
		old:  ` && status.Status().Details.Name == name`,
		new:  ``,
		harm: "the answer that the namespace is missing deletes the object",
	},
	{
		name: "failed-reads-prove", file: "mirror/facts.go",
		old: `	case !provesAbsence(err, id.Name):
`,
		new: `	case apierrors.IsUnauthorized(err):
`,
		harm: "an API server that answers with an error deletes the object everywhere",
	},
	{
		name: "unsynced-sources-are-absent", file: "mirror/facts.go",
		old: `			f.Unknown = notSynced
`,
		new: `			_ = notSynced
`,
		harm: "an object that has not been listed yet does not exist",
	},
	{
		name: "unsynced-surroundings-are-absent", file: "mirror/facts.go",
		old:  `if f.Unknown == "" && !w.Status().Synced {`,
		new:  `if f.Unknown == "" && w == nil {`,
		harm: "a cluster or Work that has not been listed yet does not exist",
	},
	{
		name: "left-out-namespaces-are-judged", file: "mirror/facts.go",
		old:  `if !ok || !resource.SelectsNamespace(id.Namespace) {`,
		new:  `if !ok || resource.Resource == "" {`,
		harm: "a namespace that leaves the configuration loses its objects in every member",
	},
	{
		name: "another-answer-proves", file: "mirror/facts.go",
		old:  `if f.Source.ID != id {`,
		new:  `if f.Source.ID.Kind != id.Kind {`,
		harm: "a Work is deleted by what another object says",
	},
	{
		name: "clusters-that-cannot-be-read-prove", file: "mirror/facts.go",
		old: `		case !provesAbsence(err, cluster):
`,
		new: `		case apierrors.IsUnauthorized(err):
`,
		harm: "a Work is deleted since the labels of its cluster could not be read",
	},
	{
		name: "cached-labels-prove", file: "mirror/facts.go",
		old: `	if f.Source == nil || !f.Source.Terms.HasSelector() {
`,
		new: `	if f.Source == nil || f.Source.Terms.HasSelector() {
`,
		harm: "a cache of clusters that lags deletes what their labels choose them for",
	},
	{
		name: "cached-defaults-prove", file: "mirror/facts.go",
		old:  `defaults, err := c.liveDefaults(ctx, obj.GetNamespace())`,
		new:  `defaults, err := c.defaultsOf(obj.GetNamespace()), error(nil)`,
		harm: "a cache of Namespaces that lags deletes what their defaults ask for",
	},
	{
		name: "outdated-sources-are-believed", file: "mirror/facts.go",
		old: `		return cached, true
`,
		new: `		return cached, false
`,
		harm: "an object does not follow its Namespace's new default",
	},
	{
		name: "hash-collisions-are-kin", file: "mirror/facts.go",
		old:  `if w := obj.(*Work); w.Source == id {`,
		new:  `if w := obj.(*Work); w.names() {`,
		harm: "the Works of one source are those of another whose hash begins alike",
	},
	{
		name: "absent-definitions-are-kept", file: "mirror/definition.go",
		old: `		f.Definition = DefinitionDeleted
	}
	return nil`,
		new: `		f.Definition = DefinitionServed
	}
	return nil`,
		harm: "an object that went with its definition is deleted without an approval",
	},
	{
		name: "served-resources-are-gone", file: "mirror/definition.go",
		old: `	if ok {
		return fmt.Errorf("cannot tell whether source %q exists: it is served`,
		new: `	if ok && served.Resource.Version == "" {
		return fmt.Errorf("cannot tell whether source %q exists: it is served`,
		harm: "a version that is not served any more deletes every object of the kind",
	},
	{
		name: "definitions-that-are-there-are-gone", file: "mirror/definition.go",
		old: `	if err == nil {
		return fmt.Errorf("cannot tell whether source %q exists: its definition`,
		new: `	if err == nil && id.Name == "" {
		return fmt.Errorf("cannot tell whether source %q exists: its definition`,
		harm:       "a definition that is made again deletes every object of the kind",
		equivalent: "what is no error proves no absence, so that the next check refuses it too",
	},
	{
		name: "definitions-that-cannot-be-read-are-gone", file: "mirror/definition.go",
		old:  `if !provesAbsence(err, r.String()) {`,
		new:  `if err == nil {`,
		harm: "an API server that answers with an error deletes every object of the kind",
	},
	{
		name: "definitions-that-cannot-be-read-are-as-ever", file: "mirror/definition.go",
		old:  `case !provesAbsence(err, r.String()):`,
		new:  `case f == nil:`,
		harm: "an object that went with its definition is deleted without an approval",
	},
	{
		name: "old-rereads-are-believed", file: "mirror/namespace.go",
		old:  ` || isOlder(s.ResourceVersion, cached.ResourceVersion)) {`,
		new:  `) {`,
		harm: "what was read of an object before is believed over what the cache has since",
	},
	{
		name: "labels-are-read-once", file: "mirror/lately.go",
		old:  `ok && !isOlder(known.(*unstructured.Unstructured).GetResourceVersion(), seen) {`,
		new:  `ok {`,
		harm: "a deletion rests on defaults or labels that are known to have changed",
	},
}

var ofSync = []mutant{
	{
		name: "deletions-of-namesake-works", file: "mirror/client.go",
		old:  `Preconditions{UID: &w.UID, ResourceVersion: &version}`,
		new:  `Preconditions{ResourceVersion: &version}`,
		harm: "a Work that was made again since it was examined is deleted",
	},
	{
		name: "deletions-of-changed-works", file: "mirror/client.go",
		old:  `Preconditions{UID: &w.UID, ResourceVersion: &version}`,
		new:  `Preconditions{UID: &w.UID}`,
		harm: "a Work that has changed since it was examined is deleted",
	},
	{
		name: "shrunk-at-any-version", file: "mirror/client.go",
		old:  `render.Shrink(obj.Object, w.Source, w.ResourceVersion)`,
		new:  `render.Shrink(obj.Object, w.Source, obj.GetResourceVersion())`,
		harm: "a Work that has changed since it was examined is shrunk and deleted",
	},
	{
		name: "outdated-operations", file: "mirror/apply.go",
		old: `return now != op.Work
`,
		new: `return now == nil && op.Work != nil
`,
		harm: "a plan is carried out on a Work that has changed while it waited",
	},
	{
		name: "deletions-pass-the-breaker", file: "mirror/apply.go",
		old:  `if op.Kind == Delete && !c.admitDeletion(v, &op, o) {`,
		new:  `if op.Kind == Delete && op.Work.Held != nil && !c.admitDeletion(v, &op, o) {`,
		harm: "no deletion is held",
	},
	{
		name: "deletions-are-not-booked", file: "mirror/apply.go",
		old:  `c.breaker.made(c.resourceOf(v.ID), v.ID, op.approved)`,
		new:  `_ = c.breaker`,
		harm: "a fast stream of single deletions empties every member",
	},
	{
		name: "marked-over-and-over", file: "mirror/apply.go",
		old: `return op.Work.Held == nil
`,
		new: `return true
`,
		harm: "each look at a held Work renews its mark, so that no approval ever covers it",
	},
	{
		name: "nothing-is-deleted", file: "mirror/sync.go",
		old:  `toProve := due > 0 && cached.settle == 0;`,
		new:  `toProve := due < 0;`,
		harm: "what nobody wants stays for ever",
	},
	{
		name: "new-leaders-believe-stale-caches", file: "mirror/sync.go",
		old:  `return isOlder(w.Status().ResourceVersion, fence) || `,
		new:  `return w == nil || `,
		harm: "a new leader writes old content over what the last one wrote",
	},
	{
		name: "new-leaders-believe-stale-defaults", file: "mirror/sync.go",
		old:  `|| hasDefaults && isOlder(c.namespaces.Status().ResourceVersion, fence)`,
		new:  `|| hasDefaults && fence == ""`,
		harm: "a new leader mirrors to where a Namespace has ceased to ask",
	},
	{
		name: "unlabelled-works-are-due", file: "mirror/sync.go",
		old:  ` && w.Labelled && !w.Terminating && `,
		new:  ` && `,
		harm: "Works that are not deleted trip the breaker for those that are",
	},
	{
		name: "leading-before-the-caches-are-there", file: "mirror/lead.go",
		old:  `if !areSynced(c.fixed()...) || c.configuration.Load() == nil {`,
		new:  `if c.configuration.Load() == nil {`,
		harm: "a new leader creates what is there, and takes its absence for a fact",
	},
	{
		name: "purge-takes-what-is-marked", file: "mirror/purge.go",
		old:  `if w.Foreign != "" || !w.Labelled || w.Terminating`,
		new:  `if !w.Labelled || w.Terminating`,
		harm: "purge deletes a Work of another controller",
	},
	{
		name: "purge-takes-what-is-configured", file: "mirror/purge.go",
		old:  `if r, ok := c.Resource(p.Resource); ok && r.SelectsNamespace(w.Source.Namespace) {`,
		new:  `if _, ok := c.Resource(p.Resource); !ok {`,
		harm: "purge deletes what a daemon mirrors",
	},
	{
		name: "purge-takes-namesakes", file: "mirror/purge.go",
		old:  `case again.UID != w.UID || !p.takes(again):`,
		new:  `case !p.takes(again):`,
		harm: "purge deletes a Work that was made since it was listed",
	},
}

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
