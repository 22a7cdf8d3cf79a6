package main

var ofDecide = []mutant{
	{
		name: "overrides-go-without-a-live-read", file: "mirror/judge/renderings.go",
		old:  `if r.f.PoliciesLive && !r.f.NamespaceGoing || w == nil || w.Source != r.f.ID || w.Terminating {`,
		new:  `if w != nil || w == nil {`,
		harm: "a cache that has lost a policy brings back the replicas that it had reduced",
	},
	{
		name: "unreadable-policies-do-not-count", file: "mirror/judge/renderings.go",
		old:  `p.err = errors.New(policy.Fault)`,
		new:  `p.selected.Name += policy.Fault[:0]`,
		harm: "an object reaches a member without an override that this version cannot read",
	},
	{
		name: "clusters-that-are-away-have-no-share", file: "mirror/judge/division.go",
		old:  `if facts.State != ClusterMissing && f.Source`,
		new:  `if facts.State == ClusterJoined && f.Source`,
		harm: "the others take over the share of a cluster whose Pods still run",
	},
	{
		name: "missing-clusters-have-a-share", file: "mirror/judge/division.go",
		old:  `if facts.State != ClusterMissing && f.Source`,
		new:  `if f.Source`,
		harm: "replicas go to a cluster that does not exist",
	},
	{
		name: "shares-shrink-at-once", file: "mirror/judge/division.go",
		old:  `share.Replicas += r.kept(cluster)`,
		new:  `share.Replicas += min(0, r.kept(cluster))`,
		harm: "replicas are taken away before others have been added",
	},
	{
		name: "changes-wait-for-shares", file: "mirror/judge/renderings.go",
		old:  `wanted.Keeps && r.share(cluster).HasCompletions {`,
		new:  `wanted.Keeps {`,
		harm: "an image fix waits for a cluster whose override fails",
	},
	{
		name: "unknown-shares-are-none", file: "mirror/judge/division.go",
		old:  `has = r.f.Scale.Replicas`,
		new:  `has = 0`,
		harm: "the first division takes replicas away before others have been added",
	},
	{
		name: "kept-by-what-goes", file: "mirror/judge/division.go",
		old:  `if facts.State != ClusterJoined || !r.f.Source.Terms`,
		new:  `if facts.State != ClusterJoined && !r.f.Source.Terms`,
		harm: "a cluster that is no longer asked for keeps replicas in the place of one that stays, and then they are gone",
	},
	{
		name: "kept-for-ever", file: "mirror/judge/division.go",
		old:  `if n := min(missing, r.surplus(cluster)); n > 0 {`,
		new:  `if n := r.surplus(cluster); n > 0 && missing != 0 {`,
		harm: "nothing can be scaled down while an override fails on one cluster",
	},
	{
		name: "bad-content-is-resumed", file: "mirror/judge/renderings.go",
		old:  `if w != nil && w.State == state.WorkSuspended {`,
		new:  `if w != nil && w.Name == "" {`,
		harm: "Karmada applies what a suspension has kept from a member",
	},
	{
		name: "long-works-cannot-be-adjusted", file: "mirror/judge/renderings.go",
		old: `	if w.IsLong() {
		template`,
		new: `	if w.IsLong() && w.Name == "" {
		template`,
		harm: "a workload that was to be preserved is deleted, because the API server refuses the patch",
	},
	{
		name: "unreadable-policies-are-lost", file: "mirror/judge/renderings.go",
		old:  `err = r.unreadable(cluster, rendering)`,
		new:  `_ = r.unreadable(cluster, rendering)`,
		harm: "an override is undone because its policy uses a field of a newer Karmada",
	},
	{
		name: "what-waits-is-read", file: "mirror/judge/decide.go",
		old:  `target.Lost == nil && !target.Waits`,
		new:  `target.Lost == nil`,
		harm: "a sweep reports a defect, and each look reads the source",
	},
	{
		name: "all-clusters-get-the-same", file: "mirror/judge/renderings.go",
		old:  `r.f.isLong(cluster), edit.Key(s.Template.Manifest), notes`,
		new:  `r.f.isLong(cluster), render.EditKey{}, notes`,
		harm: "each cluster gets the registry, host name and replicas of the first",
	},
	{
		name: "misspelt-clusters-are-not-suspended", file: "mirror/judge/decide.go",
		old: `if f.Clusters[name].State == ClusterMissing {
			unknown`,
		new: `if f.Clusters[name].State == ClusterTerminating {
			unknown`,
		harm: "a user believes that a cluster is suspended whose name is misspelt",
	},
	{
		name: "recreated-objects-speak-for-earlier-ones", file: "mirror/judge/decide.go",
		old: ` && w.IsMadeFrom(f.Source.UID)
}`,
		new: `
}`,
		harm: "a user without the verb mirror leaves an administrator's object behind",
	},
	{
		name: "orphans-go-without-a-live-read", file: "mirror/judge/decide.go",
		old:  `if !f.Live {`,
		new:  `if !f.Live && f.Source != nil {`,
		harm: "a cache that has lost an object deletes it in every member",
	},
	{
		name: "targets-go-without-a-live-read", file: "mirror/judge/decide.go",
		old:  `if !f.Live {`,
		new:  `if !f.Live && f.Source == nil {`,
		harm: "a stale cache deletes what users have asked for since",
	},
	{
		name: "foreign-works-are-deleted", file: "mirror/judge/decide.go",
		old: `		return Target{Decision: Unknown, Because: owner}
`,
		new: `		_ = owner
`,
		harm: "a Work of another controller is deleted",
	},
	{
		name: "foreign-marks-are-ignored", file: "mirror/judge/decide.go",
		old:  `case w.Foreign != "":`,
		new:  `case w.Foreign != "" && !w.NamesSource():`,
		harm: "a Work that another controller has marked is overwritten and deleted",
	},
	{
		name: "same-name-is-same-source", file: "mirror/judge/decide.go",
		old: `	case w.Source != f.ID:
`,
		new: `	case w.Source.Name != f.ID.Name:
`,
		harm: "two sources that share a Work name overwrite each other's Work",
	},
	{
		name: "unknown-deletes", file: "mirror/judge/decide.go",
		old: `	case f.Unknown != "":
`,
		new: `	case f.Unknown != "" && f.Source != nil:
`,
		harm: "what is no longer in the configuration is deleted in every member",
	},
	{
		name: "refusals-delete", file: "mirror/judge/decide.go",
		old:  `target := Target{Decision: Unknown, Because: string(f.Source.Refusal.Reason)`,
		new:  `target := Target{Decision: Unwanted, Because: string(f.Source.Refusal.Reason)`,
		harm: "an annotation that cannot be parsed deletes the object everywhere",
	},
	{
		name: "missing-clusters-delete", file: "mirror/judge/decide.go",
		old:  `if f.Source.Terms.HasSelector() && f.Clusters[cluster].State == ClusterMissing {`,
		new:  `if f.Source.Terms.HasSelector() && f.Clusters[cluster].State == ClusterTerminating {`,
		harm: "a cluster with unknown labels loses the objects that its labels selected it for",
	},
	{
		name: "leaving-clusters-are-written-to", file: "mirror/judge/decide.go",
		old:  `return Target{Decision: Unknown, Because: "the cluster is being removed"}, nil`,
		new:  `return Target{Decision: Wanted, Because: "the cluster is being removed"}, nil`,
		harm: "a cluster is never removed, because its Works are recreated",
	},
	{
		name: "definitions-take-their-objects", file: "mirror/judge/decide.go",
		old:  `NeedsApproval: f.Definition != DefinitionServed || `,
		new:  `NeedsApproval: `,
		harm: "one CustomResourceDefinition deleted by mistake empties every member",
	},
	{
		name: "old-definitions-take-their-objects", file: "mirror/judge/decide.go",
		old:  ` || f.Source == nil && f.outlived()}`,
		new:  `}`,
		harm: "a CustomResourceDefinition that is deleted and recreated empties every member",
	},
	{
		name: "outlived-the-other-way", file: "mirror/judge/decide.go",
		old:  `w.SourceCreated().Before(f.DefinitionCreated)`,
		new:  `w.SourceCreated().After(f.DefinitionCreated)`,
		harm: "ordinary deletions wait for an approval, and those due to a deleted definition do not",
	},
	{
		name: "rules-do-not-hold", file: "mirror/judge/decide.go",
		old:  `if f.Clusters[cluster].Forbidden {`,
		new:  `if f.Clusters[cluster].Forbidden && f.Works[cluster] == nil {`,
		harm: "an object is updated where the configuration no longer allows it",
	},
	{
		name: "claims-release-what-others-have", file: "mirror/judge/decide.go",
		old:  `ClaimedByPolicy && isOf(f, cluster) && f.Works[cluster].Bound():`,
		new:  `ClaimedByPolicy && f.Works[cluster] != nil && f.Works[cluster].Bound():`,
		harm: "a policy's claim on one object removes our name from the Work of another",
	},
	{
		name: "claims-are-believed", file: "mirror/judge/decide.go",
		old:  ` && isOf(f, cluster) && f.Works[cluster].Bound():`,
		new:  ` && isOf(f, cluster):`,
		harm: "a user who labels an object leaves it behind in the members for good",
	},
	{
		name: "overwritten-works-are-kept", file: "mirror/judge/decide.go",
		old:  `case isOf(f, cluster) && f.Works[cluster].IsOverwritten():`,
		new:  `case false:`,
		harm: "an object is not mirrored if Karmada has taken its Work name",
	},
	{
		name: "overwritten-works-of-others-are-disowned", file: "mirror/judge/decide.go",
		old:  `case isOf(f, cluster) && f.Works[cluster].IsOverwritten():`,
		new:  `case f.Works[cluster] != nil && f.Works[cluster].IsOverwritten():`,
		harm: "our name is removed from the Work of another source",
	},
	{
		name: "handed-works-carry-anything", file: "mirror/judge/decide.go",
		old:  ` && w.Carries() == f.ID && (w.Source`,
		new:  ` && (w.Source`,
		harm: "a Work of another object passes for one that a policy gave back",
	},
	{
		name: "bindings-give-back-what-they-hold", file: "mirror/judge/decide.go",
		old:  `if w.Bound() && !f.Clusters[w.Cluster].Unbound {`,
		new:  `if false {`,
		harm: "the Work of a policy that still exists is overwritten",
	},
	{
		name: "long-works-go-without-a-policy's", file: "mirror/judge/decide.go",
		old:  `if target.AsksBinding = true; f.Clusters[cluster].Doubled {`,
		new:  `if target.AsksBinding = true; true {`,
		harm: "an object that a policy claims, but has not taken over, is mirrored by neither",
	},
	{
		name: "works-are-dropped-with-their-objects", file: "mirror/judge/plan.go",
		old:  `case target.Decision == Unneeded && slices.Contains(w.Finalizers, render.ExecutionFinalizer):`,
		new:  `case false:`,
		harm: "what a policy has taken over is deleted in the member",
	},
	{
		name: "handed-works-are-taken-from-others", file: "mirror/judge/decide.go",
		old:  ` && (w.Source == f.ID || !w.NamesSource()) {`,
		new:  ` {`,
		harm: "a Work that was once ours is taken from its current source",
	},
	{
		name: "works-of-others-are-woken", file: "mirror/judge/decide.go",
		old:  ` && f.Unknown == "" && w.Source == f.ID {`,
		new:  ` && f.Unknown == "" {`,
		harm: "two sources wake one Work in turn",
	},
	{
		name: "parted-twice", file: "mirror/judge/decide.go",
		old:  ` && w.IsParting() && !f.Clusters[cluster].WriteUnderWay {`,
		new:  ` && w.IsParting() {`,
		harm: "a Work that is gone already counts as a failure",
	},
	{
		name: "others-are-parted", file: "mirror/judge/decide.go",
		old:  `isKnown && w.Foreign == "" && w.IsParting()`,
		new:  `isKnown && w.IsParting()`,
		harm: "another controller's Work loses its finalizer",
	},
	{
		name: "what-cannot-be-written-rises", file: "mirror/judge/division.go",
		old:  `case facts.Forbidden || facts.State != ClusterJoined:`,
		new:  `case facts.Forbidden && false:`,
		harm: "an image fix waits for as long as a member is away from which a Work is being deleted",
	},
	{
		name: "failing-content-has-replicas", file: "mirror/judge/division.go",
		old:  `case w == nil && r.f.Source.Deleted.IsZero(): // also`,
		new:  `case w == nil && !r.f.Source.Deleted.IsZero(): // also`,
		harm: "replicas are taken from clusters, and the one that is to have them cannot get them",
	},
}
