package main

var ofGather = []mutant{
	{
		name: "any-404-proves", file: "mirror/gather/live.go",
		old: `		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) &&
`,
		new:  ``,
		harm: "a path that is not served deletes every object of the kind",
	},
	{
		name: "the-404-of-another-proves", file: "mirror/gather/live.go",
		old:  ` && status.Status().Details.Name == name`,
		new:  ``,
		harm: "the answer that the namespace is missing deletes the object",
	},
	{
		name: "failed-reads-prove", file: "mirror/gather/live.go",
		old: `	case ProvesAbsence(err, id.Name):
		return nil, nil
`,
		new: `	case ProvesAbsence(err, id.Name) || apierrors.IsInternalError(err):
		return nil, nil
`,
		harm: "an API server that answers with an error deletes the object everywhere",
	},
	{
		name: "unsynced-sources-are-absent", file: "mirror/gather/facts.go",
		old: `			f.Unknown = "its resource has not synced"
`,
		new: `			_ = "its resource has not synced"
`,
		harm: "an object that has not been listed yet counts as missing",
	},
	{
		name: "unsynced-surroundings-are-absent", file: "mirror/gather/facts.go",
		old:  `if f.Unknown == "" && !w.Status().Synced {`,
		new:  `if f.Unknown == "" && w == nil {`,
		harm: "a cluster or Work that has not been listed yet counts as missing",
	},
	{
		name: "left-out-namespaces-are-judged", file: "mirror/gather/facts.go",
		old:  `if !ok || !resource.SelectsNamespace(id.Namespace) {`,
		new:  `if !ok || resource.Resource == "" {`,
		harm: "a namespace that leaves the configuration loses its objects in every member",
	},
	{
		name: "another-answer-proves", file: "mirror/gather/live.go",
		old:  `if o.ID != id {`,
		new:  `if o.ID.Kind != id.Kind {`,
		harm: "a Work is deleted because of what another object says",
	},
	{
		name: "clusters-that-cannot-be-read-prove", file: "mirror/gather/live.go",
		old: `		case !ProvesAbsence(err, cluster):
`,
		new: `		case apierrors.IsUnauthorized(err):
`,
		harm: "a Work is deleted because the labels of its cluster could not be read",
	},
	{
		name: "cached-labels-prove", file: "mirror/gather/live.go",
		old: `	if !f.Source.Terms.HasSelector() {
`,
		new: `	if f.Source.Terms.HasSelector() {
`,
		harm: "a stale cache of clusters deletes the Works of clusters that their labels select",
	},
	{
		name: "cached-defaults-prove", file: "mirror/gather/live.go",
		old:  `namespace, err := c.liveNamespaceOf(ctx, id)`,
		new:  `namespace, _ := c.namespaceOf(id)`,
		harm: "a stale cache of Namespaces deletes what their defaults ask for",
	},
	{
		name: "unseen-namespaces-say-nothing", file: "mirror/gather/facts.go",
		old: `			if !found {
`,
		new: `			if !found && namespace == nil {
`,
		harm: "an object applied together with its Namespace is mirrored where the Namespace's labels forbid it",
	},
	{
		name: "old-contents-are-written", file: "mirror/gather/contents.go",
		old:  `ok && isAsNew(whole, o) {`,
		new:  `ok {`,
		harm: "an object's old content is written over its current content",
	},
	{
		name: "held-autoscalers-are-gone", file: "mirror/gather/scale.go",
		old:  `ok && w.Foreign == "" {`,
		new:  `ok && w.Foreign != "" {`,
		harm: "Karmada fights an autoscaler that stays in a member",
	},
	{
		name: "older-contents-replace-newer", file: "mirror/gather/contents.go",
		old:  `!ok || !state.IsOlder(whole.ResourceVersion, known.ResourceVersion) {`,
		new:  `!ok || known != whole {`,
		harm: "a lagging watch writes an object's old content over its current content",
	},
	{
		name: "proofs-depend-on-an-order", file: "mirror/gather/facts.go",
		old:  `slices.SortFunc(works, func(a, b *state.Work) int { return cmp.Compare(a.Cluster, b.Cluster) })`,
		new:  `slices.SortFunc(works, func(a, b *state.Work) int { return cmp.Compare(b.Cluster, "") })`,
		harm: "a deletion from many clusters is proved over and over",
	},
	{
		name: "hash-collisions-are-kin", file: "mirror/gather/lookup.go",
		old:  `if w.Source == id {`,
		new:  `if w.NamesSource() {`,
		harm: "the Works of one source count as those of another with the same hash prefix",
	},
	{
		name: "absent-definitions-are-kept", file: "mirror/gather/live.go",
		old: `		f.Definition = judge.DefinitionDeleted
	}
	return nil`,
		new: `		f.Definition = judge.DefinitionServed
	}
	return nil`,
		harm: "an object that was deleted with its definition is deleted in the members without an approval",
	},
	{
		name: "served-resources-are-gone", file: "mirror/gather/live.go",
		old: `	if ok {
		return fmt.Errorf("cannot tell whether source %q exists: it is served`,
		new: `	if ok && served.Resource.Version == "" {
		return fmt.Errorf("cannot tell whether source %q exists: it is served`,
		harm: "a version that is no longer served deletes every object of the kind",
	},
	{
		name: "definitions-that-are-there-are-gone", file: "mirror/gather/live.go",
		old: `	if err == nil {
		return fmt.Errorf("cannot tell whether source %q exists: its definition`,
		new: `	if err == nil && id.Name == "" {
		return fmt.Errorf("cannot tell whether source %q exists: its definition`,
		harm:       "a recreated definition deletes every object of the kind",
		equivalent: "an answer without an error proves no absence, so the next check refuses it too",
	},
	{
		name: "definitions-that-cannot-be-read-are-gone", file: "mirror/gather/live.go",
		old:  `if !ProvesAbsence(err, r.String()) {`,
		new:  `if err == nil {`,
		harm: "an API server that answers with an error deletes every object of the kind",
	},
	{
		name: "definitions-that-cannot-be-read-are-as-ever", file: "mirror/gather/live.go",
		old:  `case !ProvesAbsence(err, r.String()):`,
		new:  `case f == nil:`,
		harm: "an object that was deleted with its definition is deleted in the members without an approval",
	},
	{
		name: "what-was-never-defined-is-gone", file: "mirror/gather/definition.go",
		old:  `return synced && !found && c.hadDefinition(id, gr) &&`,
		new:  `return synced && !found &&`,
		harm: "an approval deletes the Works of objects whose aggregated API is unavailable",
	},
	{
		name: "labels-are-read-once", file: "mirror/gather/lately.go",
		old:  `ok && !state.IsOlder(known.(*unstructured.Unstructured).GetResourceVersion(), seen) {`,
		new:  `ok && !state.IsOlder(known.(*unstructured.Unstructured).GetResourceVersion(), "") {`,
		harm: "a deletion is based on defaults or labels that are known to have changed",
	},
	{
		name: "other-daemons-works-count", file: "mirror/gather/lookup.go",
		old:  `!w.IsFinished() && resource.SelectsNamespace(w.Source.Namespace)`,
		new:  `!w.IsFinished() && len(resource.Namespaces) >= 0`,
		harm: "a daemon with a hundredth of the Works can lose all of them",
	},
	{
		name: "new-leaders-believe-stale-defaults", file: "mirror/gather/caughtup.go",
		old:  `!isThere || state.IsOlder(cached.GetResourceVersion(), version)`,
		new:  `!isThere || state.IsOlder(version, version)`,
		harm: "a new leader mirrors to clusters that a Namespace no longer asks for",
	},
	{
		name: "new-leaders-believe-what-is-gone", file: "mirror/gather/caughtup.go",
		old:  `!isThere || state.IsOlder(cached.GetResourceVersion(), version)`,
		new:  `isThere && state.IsOlder(cached.GetResourceVersion(), version)`,
		harm: "a new leader follows the defaults of a Namespace that no longer exists",
	},
	{
		name: "new-leaders-miss-what-is-new", file: "mirror/gather/caughtup.go",
		old: `	if len(live) > 0 {
`,
		new: `	if len(live) > 1000000 {
`,
		harm: "a new leader mirrors to a cluster whose labels it does not know",
	},
	{
		name: "blind-replicas-are-ready", file: "mirror/gather/caches.go",
		old:  `status.State == watch.Degraded && since > MaxDegraded`,
		new:  `status.State == watch.Degraded && since < 0`,
		harm: "a replica that can never take over counts as a standby",
	},
	{
		name: "karmada-gets-no-time-to-part", file: "mirror/gather/stalls.go",
		old:  `return max(0, limit-c.options.Clock.Since(since))`,
		new:  `return min(0, limit-c.options.Clock.Since(since))`,
		harm: "Karmada's labels stay on every object that is preserved",
	},
	{
		name: "outages-count-as-time-to-part", file: "mirror/gather/stalls.go",
		old:  `.at.After(since) {`,
		new:  `.at.Before(since) {`,
		harm: "Karmada's labels stay on objects that are preserved during an outage",
	},
}
