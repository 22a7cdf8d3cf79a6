package main

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
