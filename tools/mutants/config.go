package main

// ofConfig are mutants of the configuration and of approvals.
var ofConfig = []mutant{
	{
		name: "no-rule-allows-all", file: "config/authorization.go",
		old:  `return c.Authorization == nil || `,
		new:  `return len(c.Authorization) == 0 || `,
		harm: "an empty list of rules, which allows nothing, allows everything",
	},
	{
		name: "rules-forget-namespaces", file: "config/authorization.go",
		old:  `case len(r.Namespaces) > 0 && (s.Namespace == "" || !matches(r.Namespaces, s.Namespace)):`,
		new:  `case len(r.Namespaces) > 0 && s.Namespace == "":`,
		harm: "a tenant's objects go to another tenant's clusters",
	},
	{
		name: "rules-forget-clusters", file: "config/authorization.go",
		old:  `return len(r.Clusters) == 0 || matches(r.Clusters, cluster)`,
		new:  `return true`,
		harm: "an object goes to clusters that no rule allows",
	},
	{
		name: "null-reads-as-left-out", file: "config/authorization.go",
		old: `	case nil:
`,
		new: `	case error:
`,
		harm: "a rule with a key but no value allows everything",
	},
	{
		name: "left-out-namespaces-are-in", file: "config/config.go",
		old:  `return matches(included, namespace) && !matches(excluded, namespace)`,
		new:  `return len(included) >= 0 && !matches(excluded, namespace)`,
		harm: "a daemon garbage-collects the Works of another daemon's namespaces",
	},
	{
		name: "excluded-namespaces-are-in", file: "config/config.go",
		old:  `return matches(included, namespace) && !matches(excluded, namespace)`,
		new:  `return matches(included, namespace) || matches(excluded, namespace)`,
		harm: "what an administrator has excluded is mirrored",
	},
	{
		name: "policies-are-ignored-without-a-value", file: "config/authorization.go",
		old:  `"overridePolicies", "strip"}`,
		new:  `"strip"}`,
		harm: "a key without a value loses all overrides",
	},
	{
		name: "breaker-is-off-unasked", file: "config/parts.go",
		old:  `Works: defaultHoldWorks, Percent: defaultHoldPercent`,
		new:  `Percent: defaultHoldPercent`,
		harm: "without a threshold in the configuration the breaker holds nothing",
	},
	{
		name: "unknown-fields-pass", file: "config/parts.go",
		old:  `errors.Join(append(strict, err)...)`,
		new:  `errors.Join(append(strict[:0], err)...)`,
		harm: "a threshold with a misspelt name has no effect",
	},
	{
		name: "no-rule-in-a-part-allows-all", file: "config/parts.go",
		old:  `if _, given := p.gives["authorization"]; given {`,
		new:  `if len(p.Authorization) > 0 {`,
		harm: "an empty list of rules in a part, which allows nothing, allows everything",
	},
	{
		name: "narrowed-defaults-are-whole", file: "config/parts.go",
		old:  `c.Resources[i] = r`,
		new:  `_ = i`,
		harm: "a default that a part narrows is mirrored from all namespaces",
	},
	{
		name: "wrong-parts-pass", file: "config/parts.go",
		old: `			errs = append(errs, p.blame(name, err))
			continue
`,
		new: `			continue
`,
		harm: "the resources of an invalid part are no longer in the configuration, and purge deletes their Works",
	},
	{
		name: "approvals-of-the-future", file: "config/approvals.go",
		old:  `if a[resource].After(now.Add(maxClockSkew)) {`,
		new:  `if a[resource].IsZero() {`,
		harm: "one approval for the year 9999 turns the breaker off for good",
	},
	{
		name: "forbidden-resources-pass", file: "config/validate.go",
		old:  `if why, forbidden := Forbidden(r.GroupResource()); forbidden {`,
		new:  `if why, forbidden := Forbidden(r.GroupResource()); forbidden && r.Resource == "" {`,
		harm: "Karmada's own objects are mirrored to the members",
	},
}
