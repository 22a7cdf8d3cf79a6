package main

var ofSource = []mutant{
	{
		name: "claims-are-fought", file: "mirror/judge/source.go",
		old:  `if claim := o.Claim(); claim != "" {`,
		new:  `if claim := o.Claim(); claim == "" && false {`,
		harm: "karmada-mirror fights for the Work of an object that a policy propagates",
	},
	{
		name: "claims-without-asking-delete", file: "mirror/judge/source.go",
		old:  `		s.Refusal = &Refusal{Reason: ClaimedByPolicy, Message: o.Claim() + " propagates this object"} // any`,
		new:  `		_ = &Refusal{Reason: ClaimedByPolicy, Message: o.Claim() + " propagates this object"} // any`,
		harm: "an object that moves to a policy is deleted in the members",
	},
	{
		name: "reserved-namespaces-are-mirrored", file: "mirror/judge/source.go",
		old:  `if render.ReservedNamespace(s.ID.Namespace) {`,
		new:  `if render.ReservedNamespace(s.ID.Name) {`,
		harm: "a member's kube-system is overwritten with the control plane's",
	},
	{
		name: "system-objects-are-mirrored", file: "mirror/judge/source.go",
		old:  `if o.System == render.SystemOwn {`,
		new:  `if o.System == render.SystemRecord {`,
		harm: "the members' pods trust the control plane's certificate instead of their own",
	},
	{
		name: "namespaces-mirror-their-system", file: "mirror/judge/source.go",
		old:  `if !own.Ask() && o.System != render.NotSystem {`,
		new:  `if own.Ask() && o.System != render.NotSystem {`,
		harm: "a Namespace with a default mirrors Helm's releases, which do not belong in the members",
	},
	{
		name: "opting-out-of-nothing-deletes", file: "mirror/judge/source.go",
		old: `		s.Refusal = noOptOut
`,
		new: `		_ = noOptOut
`,
		harm: "an empty variable in a user's template deletes the object everywhere",
	},
	{
		name: "mistaken-options-delete", file: "mirror/judge/source.go",
		old: `		s.Refusal = invalid(err)
	}
	return s
`,
		new: `		_ = err
	}
	return s
`,
		harm: "a typo in preserve-on-deletion deletes what was to be preserved",
	},
}
