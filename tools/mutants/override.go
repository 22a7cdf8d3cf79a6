package main

// ofOverride are mutants of what override policies change.
var ofOverride = []mutant{
	{
		name: "overrides-change-the-identity", file: "render/override/apply.go",
		old:  `if !reflect.DeepEqual(before, identityOf(obj)) {`,
		new:  `if obj == nil && !reflect.DeepEqual(before, identityOf(obj)) {`,
		harm: "a tenant's policy writes an object into another tenant's namespace in the members",
	},
	{
		name: "overrides-change-the-namespace", file: "render/override/apply.go",
		old:  `fields[3], _, _ = unstructured.NestedFieldNoCopy(obj, "metadata", "namespace")`,
		new:  `fields[3] = nil`,
		harm: "a tenant's policy moves its object into another tenant's namespace",
	},
	{
		name: "overrides-of-any-namespace", file: "render/override/overrides.go",
		old:  `if p.namespace != namespace {`,
		new:  `if (p.namespace == "") != (namespace == "") {`,
		harm: "a tenant's policy changes another tenant's objects",
	},
	{
		name: "overrides-of-namespaces-first", file: "render/override/overrides.go",
		old: `	steps := choose(nil, policies, "", o, c)
	if o.Namespace == "" {`,
		new: `	steps := choose(nil, policies, "", o, c)
	if o.Namespace != "" {
		return Overrides{append(choose(nil, policies, o.Namespace, o, c), steps...)}
	}
	if o.Namespace == "" {`,
		harm: "a ClusterOverridePolicy wins over the OverridePolicy that refines it",
	},
	{
		name: "overrides-without-priority", file: "render/override/overrides.go",
		old:  `cmp.Or(cmp.Compare(a.priority, b.priority), strings.Compare(a.name, b.name))`,
		new:  `cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.priority, b.priority))`,
		harm: "a policy for a whole kind wins over the policy for one object",
	},
	{
		name: "overrides-by-former-labels", file: "render/override/overrides.go",
		old:  `o.Labels = labelsAfter(steps, o)`,
		new:  `_ = labelsAfter`,
		harm: "an OverridePolicy applies here and not in Karmada, because a ClusterOverridePolicy changes the labels",
	},
	{
		name: "overrides-on-excluded-clusters", file: "render/override/target.go",
		old:  `if t.isInvalid || slices.Contains(t.exclude, c.Name) {`,
		new:  `if t.isInvalid {`,
		harm: "a cluster that a rule excludes gets what it changes",
	},
	{
		name: "invalid-targets-are-all-clusters", file: "render/override/target.go",
		old:  `if t.isInvalid || slices.Contains(t.exclude, c.Name) {`,
		new:  `if slices.Contains(t.exclude, c.Name) {`,
		harm: "a rule with an invalid selector changes the objects on every cluster",
	},
	{
		name: "unknown-overriders-are-ignored", file: "render/override/policy.go",
		old:  `FromUnstructuredWithValidation(fields, &spec, true)`,
		new:  `FromUnstructuredWithValidation(fields, &spec, false)`,
		harm: "a member gets an object without an override that only a newer Karmada knows",
	},
	{
		name: "patches-end-the-daemon", file: "render/override/patch.go",
		old:  `if recover() != nil {`,
		new:  `if operations == nil && recover() != nil {`,
		harm: "a tenant's policy ends the daemon for everyone",
	},
	{
		name: "keys-forget-overriders", file: "render/override/overrides.go",
		old:  `hash.Write([]byte(s.rule.key))`,
		new:  `hash.Write([]byte(s.policy.name))`,
		harm: "a change of a policy is not noticed where two apply, and never reaches the members",
	},
	{
		name: "a-shown-loss-is-settled", file: "mirror/gather/policies.go",
		old:  `if left := settle - c.shown`,
		new:  `if left := 0 - c.shown`,
		harm: "a policy that was deleted together with its object is undone first",
	},
	{
		name: "old-lists-count", file: "mirror/gather/lately.go",
		old:  `known.(*unstructured.UnstructuredList).GetResourceVersion(), seen)`,
		new:  `known.(*unstructured.UnstructuredList).GetResourceVersion(), "")`,
		harm: "a policy that replaces another does not count at first",
	},
	{
		name: "failing-content-keeps-its-options", file: "mirror/judge/renderings.go",
		old:  `if w == nil || w.Source != r.f.ID || w.Foreign != "" || hasOptions(w, options) {`,
		new:  `if hasNothing := w == nil || w.Foreign != "" || hasOptions(w, options); hasNothing || w.Source == r.f.ID {`,
		harm: "a workload that was to be preserved is deleted, because a policy cannot be applied",
	},
	{
		name: "lower-works-keep-their-options", file: "mirror/judge/renderings.go",
		old:  `return r.staying(cluster, Target{Decision: Unknown, Because: noteKeeps, Waits: true}), nil`,
		new:  `return Target{Decision: Unknown, Because: noteKeeps, Waits: true}, nil`,
		harm: "a workload that was to be preserved is deleted, because it waits for another cluster",
	},
}
