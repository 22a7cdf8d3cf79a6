package main

// ofEdits are mutants of what differs by cluster: variables, stripped keys and divided replicas.
var ofEdits = []mutant{
	{
		name: "edits-smuggle-karmadas-keys", file: "render/edit.go",
		old: `	Strip(obj.Object)
`,
		new:  ``,
		harm: "an override policy makes Karmada overwrite objects that are not ours",
	},
	{
		name: "variables-are-expanded-again", file: "render/expand.go",
		old: `		if expanded.WriteString(inserted); expanded`,
		new: `		text = inserted + text
		if expanded`,
		harm: "a user who writes a Cluster's annotation reads its other annotations in a member",
	},
	{
		name: "names-are-expanded", file: "render/expand.go",
		old:  `"metadata.name": true, "metadata.namespace": true`,
		new:  `"metadata.name": true`,
		harm: "an object reaches another tenant's Namespace",
	},
	{
		name: "missing-values-are-empty", file: "render/expand.go",
		old:  `if !ok && !hasDefault {`,
		new:  `if !ok && hasDefault && name == "" {`,
		harm: "an Ingress serves an empty host name in a cluster whose label is missing",
	},
	{
		name: "expansion-has-no-bound", file: "render/expand.go",
		old:  `if added += max(0, len(expanded)-len(text)); added > maxExpanded {`,
		new:  `if added += max(0, len(expanded)-len(text)); added < 0 {`,
		harm: "a short object makes the daemon run out of memory",
	},
	{
		name: "stripped-keys-reach-members", file: "render/edit.go",
		old:  `return s.Labels != nil && slices.ContainsFunc`,
		new:  `return s.Labels == nil && slices.ContainsFunc`,
		harm: "what is never to leave the control plane is in every member",
	},
	{
		name: "weight-zero-counts-as-unmatched", file: "render/replicas.go",
		old:  `if !isMatched {`,
		new:  `if !isMatched || weight == 0 {`,
		harm: "a cluster that is to have no replicas gets some",
	},
	{
		name: "weight-zero-gets-replicas", file: "render/divide.go",
		old:  `if weight > 0 {`,
		new:  `if weight = max(weight, 1); weight > 0 {`,
		harm: "a cluster that is to have no replicas gets some",
	},
	{
		name: "lowest-weight-wins", file: "render/replicas.go",
		old:  `return cmp.Compare(b.weight, a.weight)`,
		new:  `return cmp.Compare(a.weight, b.weight)`,
		harm: "prod clusters get few replicas because a glob for all clusters matches them too",
	},
	{
		name: "globs-beat-names", file: "render/replicas.go",
		old:  `return max(weight, glob.weight)`,
		new:  `return glob.weight`,
		harm: "a cluster does not get the replicas that its own term gives it",
	},
	{
		name: "replicas-are-lost", file: "render/divide.go",
		old:  `for ; left > 0; left-- {`,
		new:  `for ; left > 1; left-- {`,
		harm: "the members together run fewer replicas than the source has",
	},
	{
		name: "uid-breaks-no-ties", file: "render/divide.go",
		old:  `return hash.Sum32()&1 == 1`,
		new:  `return false`,
		harm: "the first cluster by name gets the odd replica of every source, and is overloaded",
	},
	{
		name: "larger-shares-win-ties", file: "render/divide.go",
		old:  `return a.replicas < b.replicas`,
		new:  `return a.replicas > b.replicas`,
		harm: "replicas move when an object changes hands between a policy of Karmada and us",
	},
	{
		name: "shares-start-at-quotas", file: "render/divide.go",
		old: `		high, low := bits.Mul64(s.weight, 2*total-n)
		low, carry := bits.Add64(low, sum, 0)`,
		new: `		high, low := bits.Mul64(s.weight, 2*total)
		low, carry := bits.Add64(low, 0, 0)`,
		harm: "a heavy cluster gets more replicas than Webster's method gives it",
	},
	{
		name: "each-member-completes-the-whole-job", file: "render/scale.go",
		old:  `if p.completions != nil && share.HasCompletions {`,
		new:  `if p.completions != nil && !share.HasCompletions {`,
		harm: "a Job does its work once in every member",
	},
	{
		name: "jobs-wait-without-pods", file: "render/scale.go",
		old:  `if s.Replicas == 0 {`,
		new:  `if s.Replicas >= 0 {`,
		harm: "a Job never completes in a member that has completions but no Pods for it",
	},
	{
		name: "indexed-jobs-are-divided", file: "render/scale.go",
		old:  `mode == string(batchv1.IndexedCompletion) {`,
		new:  `mode == string(batchv1.IndexedCompletion) && obj == nil {`,
		harm: "the first indexes of a Job are worked on in every member, and the last in none",
	},
}
