package main

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
