package main

// ofRender are mutants of names, terms, wishes, what is stripped, and the Work.
var ofRender = []mutant{
	{
		name: "source-id-without-namespace", file: "render/identity.go",
		old:  `i.Kind + "/" + i.Namespace + "/" + i.Name`,
		new:  `i.Kind + "/" + i.Name`,
		harm: "two sources that differ only in namespace share the label that identifies their Works",
	},
	{
		name: "work-name-by-case", file: "render/identity.go",
		old:  `hash.Write([]byte(strings.ToLower(qualified)))`,
		new:  `hash.Write([]byte(qualified))`,
		harm: "the Work does not have the name that Karmada looks for when the object was deleted in a member",
	},
	{
		name: "work-name-without-namespace", file: "render/identity.go",
		old:  `qualified = i.Namespace + "-" + qualified`,
		new:  `qualified += ""`,
		harm: "sources with the same name in two namespaces fight over one Work",
	},
	{
		name: "identity-in-any-form", file: "render/identity.go",
		old:  `if i.Kind == "" || i.Name == "" || i.String() != s {`,
		new:  `if i.Kind == "" || i.Name == "" {`,
		harm: "an annotation that we have not written names a source",
	},
	{
		name: "works-outside-of-execution-namespaces", file: "render/identity.go",
		old:  `if !ok || cluster == "" {`,
		new:  `if cluster == "" {`,
		harm: "a Work in an ordinary namespace counts as a cluster's",
	},
	{
		name: "system-namespaces-are-mirrored", file: "render/identity.go",
		old:  `strings.HasPrefix(namespace, "kube-") || `,
		new:  ``,
		harm: "a member's kube-system is overwritten with the control plane's",
	},
	{
		name: "inclusion-wins", file: "render/terms.go",
		old:  `if contains(l.notNames, cluster) || matchesAny(l.notGlobs, cluster) {`,
		new:  `if !contains(l.names, cluster) && (contains(l.notNames, cluster) || matchesAny(l.notGlobs, cluster)) {`,
		harm: "an excluded cluster gets the object anyway",
	},
	{
		name: "excluding-globs-are-ignored", file: "render/terms.go",
		old:  `|| matchesAny(l.notGlobs, cluster) {`,
		new:  `{`,
		harm: "prod clusters that !prod-* excludes get the object",
	},
	{
		name: "selector-beats-exclusion", file: "render/terms.go",
		old: `	l := t.get()
	if contains(`,
		new: `	l := t.get()
	if l.selector != nil && l.selector.Matches(of) {
		return true
	}
	if contains(`,
		harm: "an excluded cluster that has the label gets the object",
	},
	{
		name: "nothing-reads-as-no-cluster", file: "render/terms.go",
		old:  `return list, errors.New("it names no cluster; to stop mirroring, remove the annotation")`,
		new:  `return list, nil`,
		harm: "an empty variable in a user's template deletes the object everywhere",
	},
	{
		name: "exclusions-do-not-hold", file: "render/wishes.go",
		old:  `w.fence = defaults.clusters.inherit()`,
		new:  `w.fence = wish{}`,
		harm: "an object goes to a cluster that its Namespace excludes",
	},
	{
		name: "exclusions-alone-are-no-mistake", file: "render/terms.go",
		old:  `if len(t.names)+len(t.globs) == 0 && t.selector == nil {`,
		new:  `if len(t.names)+len(t.globs) < 0 {`,
		harm: "a list of exclusions only, which selects nothing, deletes the object everywhere",
	},
	{
		name: "empty-selector-selects-all", file: "render/terms.go",
		old:  `if selector.Empty() {`,
		new:  `if selector == nil {`,
		harm: "an empty selector mirrors the object to every cluster",
	},
	{
		name: "joining-clusters-match-no-glob", file: "render/terms.go",
		old:  `return key == cluster || matchesAny([]string{key}, cluster)`,
		new:  `return key == cluster`,
		harm: "a cluster that joins does not get what a glob sends there",
	},
	{
		name: "changed-exclusion-is-no-change", file: "render/terms.go",
		old:  `slices.Equal(a.notNames, b.notNames) && slices.Equal(a.notGlobs, b.notGlobs)`,
		new:  `true`,
		harm: "a cluster that is excluded later keeps the object",
	},
	{
		name: "opt-out-keeps-the-selector", file: "render/wishes.go",
		old:  `defaults.clusters, defaults.selector = wish{}, wish{}`,
		new:  `defaults.clusters = wish{}`,
		harm: "an object that opts out goes where its Namespace's selector says",
	},
	{
		name: "nonsense-reads-as-no", file: "render/wishes.go",
		old:  `case !w.given || w.value == no:`,
		new:  `case !w.given || w.value != yes:`,
		harm: "preserve-on-deletion with a typo in its value deletes what it was to preserve",
	},
	{
		name: "tenants-steer-karmada-by-annotations", file: "render/strip.go",
		old: `strings.HasPrefix(key, ownPrefix) || karmadaKey(key)
	})
	stripKeys(metadata, "labels"`,
		new: `strings.HasPrefix(key, ownPrefix)
	})
	stripKeys(metadata, "labels"`,
		harm: "a tenant smuggles a Karmada annotation into the members",
	},
	{
		name: "tenants-steer-karmada-by-labels", file: "render/strip.go",
		old:  `strings.HasPrefix(key, ownPrefix) || karmadaKey(key) && !retains`,
		new:  `strings.HasPrefix(key, ownPrefix) || key == "" && !retains`,
		harm: "a tenant smuggles a Karmada label into the members",
	},
	{
		name: "subdomains-are-not-karmadas", file: "render/strip.go",
		old:  `(domain == "karmada.io" || strings.HasSuffix(domain, ".karmada.io"))`,
		new:  `domain == "karmada.io"`,
		harm: "a tenant overwrites a member's own object with work.karmada.io/conflict-resolution",
	},
	{
		name: "retain-replicas-is-stripped", file: "render/strip.go",
		old:  `karmadaKey(key) && !retains`,
		new:  `(retains || karmadaKey(key))`,
		harm: "a member's autoscaler and Karmada fight for the replicas",
	},
	{
		name: "finalizers-travel", file: "render/strip.go",
		old:  `"ownerReferences", "finalizers",`,
		new:  `"ownerReferences",`,
		harm: "the member's object waits forever for a finalizer that nothing there removes",
	},
	{
		name: "owners-travel", file: "render/strip.go",
		old:  `"ownerReferences", "finalizers",`,
		new:  `"finalizers",`,
		harm: "the member's garbage collector deletes the object, because its owner is missing there",
	},
	{
		name: "status-travels", file: "render/strip.go",
		old:  `delete(obj, "status")`,
		new:  `delete(obj, "")`,
		harm: "each change of a status is written to every cluster",
	},
	{
		name: "nulls-travel", file: "render/strip.go",
		old:  `if isNull(field) {`,
		new:  `if false {`,
		harm: "a null field is written by the create and lost for good by the first update",
	},
	{
		name: "cluster-ips-travel", file: "render/prune.go",
		old:  `if err == nil && found && ip != corev1.ClusterIPNone {`,
		new:  `if err == nil && found && ip == "" {`,
		harm: "the members reject a Service, because they use other addresses",
	},
	{
		name: "headless-services-get-an-address", file: "render/prune.go",
		old:  `found && ip != corev1.ClusterIPNone {`,
		new:  `found && ip != "" {`,
		harm: "a headless Service becomes an ordinary one in the members",
	},
	{
		name: "tokens-travel", file: "render/prune.go",
		old:  `delete(obj, "data")`,
		new:  `delete(obj, "")`,
		harm: "a token of the control plane is readable in every member",
	},
	{
		name: "jobs-live-and-die-again", file: "render/prune.go",
		old:  `unstructured.RemoveNestedField(obj, "spec", "ttlSecondsAfterFinished")`,
		new:  `_ = obj`,
		harm: "a Job that a member deletes when its TTL expires runs again and again",
	},
	{
		name: "pruned-by-kind-alone", file: "render/prune.go",
		old:  `ok && err == nil && p.group == gv.Group {`,
		new:  `ok && err == nil && (p.group == gv.Group || gv.Group != "") {`,
		harm: "fields of a custom resource named Service or Job are stripped",
	},
	{
		name: "options-change-nothing", file: "render/digest.go",
		old:  `fmt.Appendf(meaning[:], "%v", o)`,
		new:  `meaning[:]`,
		harm: "suspending or preserving an object later has no effect",
	},
	{
		name: "overwriting-changes-nothing", file: "render/digest.go",
		old:  `o.Overwrite = hasEntry(`,
		new:  `_ = hasEntry(`,
		harm: "changing whether a member's own object is overwritten has no effect",
	},
	{
		name: "retaining-changes-nothing", file: "render/digest.go",
		old:  `o.RetainReplicas = hasEntry(`,
		new:  `_ = hasEntry(`,
		harm: "Karmada fights an autoscaler although the source says otherwise",
	},
	{
		name: "further-manifests-go-unseen", file: "render/digest.go",
		old:  `if len(list) != 1 {`,
		new:  `if len(list) == 0 {`,
		harm: "what another user adds to a Work of ours is applied and never removed",
	},
	{
		name: "webhook-id-is-a-change", file: "render/digest.go",
		old:  `delete(labels, workIDLabel)`,
		new:  `_ = labels`,
		harm: "every Work is written over and over, because Karmada's webhook labels it",
	},
	{
		name: "generation-is-a-change", file: "render/digest.go",
		old:  `isGeneration(generation) {`,
		new:  `!isGeneration(generation) {`,
		harm: "a restart writes every Work whose source got a new generation from a change of its status",
	},
	{
		name: "pruning-reaches-the-cache", file: "render/digest.go",
		old:  `const prunedDepth = 5`,
		new:  `const prunedDepth = 4`,
		harm: "computing the digest of a Job's Work removes labels from the Work itself",
	},
	{
		name: "clusters-have-digests-of-their-own", file: "render/digest.go",
		old:  `if own = annotations[workNamespaceAnnotation] == namespace && annotations[workNameAnnotation] == name; own {`,
		new:  `if own = annotations[workNamespaceAnnotation] == "" && annotations[workNameAnnotation] == ""; own {`,
		harm: "no Work ever has the digest of its template: all are written over and over",
	},
	{
		name: "claims-by-annotation-go-unseen", file: "render/claims.go",
		old:  `if labelled || annotated {`,
		new:  `if labelled || annotated && key == "" {`,
		harm: "karmada-mirror fights a policy over an object that the policy claims",
	},
	{
		name: "controlled-works-are-ours", file: "render/claims.go",
		old:  `if owner.Controller != nil && *owner.Controller {`,
		new:  `if owner.Controller != nil && !*owner.Controller {`,
		harm: "a Work that another controller owns is overwritten and deleted",
	},
	{
		name: "a-foreign-domain-is-forgotten", file: "render/claims.go",
		old: `	"federatedresourcequota.karmada.io",
`,
		new:  ``,
		harm: "a Work of Karmada's quota controller is overwritten and deleted",
	},
	{
		name: "bindings-hide-others", file: "render/claims.go",
		old:  `if mark.Text == "" || !binding {`,
		new:  `if mark.Text == "" {`,
		harm: "a Work is taken from a controller that owns it along with a binding",
	},
	{
		name: "marks-in-whole-seconds", file: "render/hold.go",
		old:  `"2006-01-02T15:04:05.000Z07:00"`,
		new:  `"2006-01-02T15:04:05Z07:00"`,
		harm: "an approval releases what was held after it, in the same second",
	},
	{
		name: "released-works-stay-labelled", file: "render/handover.go",
		old:  `ManagedByLabel: nil, SourceIDLabel: nil, HeldKey: nil},`,
		new:  `SourceIDLabel: nil, HeldKey: nil},`,
		harm: "a Work that a policy has taken over is watched and counted as ours",
	},
	{
		name: "released-works-name-their-source", file: "render/handover.go",
		old:  `SourceAnnotation: nil, SourceUIDAnnotation: nil,`,
		new:  `SourceUIDAnnotation: nil,`,
		harm: "karmada-mirror fights for a Work that a policy has taken over",
	},
	{
		name: "releases-lag", file: "render/handover.go",
		old: `		ResourceVersion: resourceVersion,
`,
		new:  ``,
		harm: "a Work that has changed hands since is released again",
	},
	{
		name: "preserved-works-are-shrunk", file: "render/shrink.go",
		old:  `"preserveResourcesOnDeletion"); preserve {`,
		new:  `"preserveResourcesOnDeletion"); !preserve && work == nil {`,
		harm: "an object that is to be preserved is emptied in the member",
	},
	{
		name: "shrunk-works-are-applied", file: "render/shrink.go",
		old:  `"suspendDispatching": true,`,
		new:  `"suspendDispatching": false,`,
		harm: "an object that is about to be deleted is emptied in the member first",
	},
	{
		name: "any-manifest-is-shrunk", file: "render/shrink.go",
		old:  `if err := validate(&whole, id); err != nil {`,
		new:  `if err := validate(&whole, id); err == nil && work == nil {`,
		harm: "a Work that carries another object is shrunk, and that object stays in the member",
	},
	{
		name: "patches-lag", file: "render/work.go",
		old:  `m.ResourceVersion, m.Finalizers = resourceVersion, withExecution(finalizers)`,
		new:  `m.ResourceVersion, m.Finalizers = "", withExecution(finalizers)`,
		harm: "a stale cache overwrites what was written since",
	},
	{
		name: "finalizers-of-others-go", file: "render/work.go",
		old:  `m.ResourceVersion, m.Finalizers = resourceVersion, withExecution(finalizers)`,
		new:  `m.ResourceVersion = resourceVersion`,
		harm: "another controller's finalizer is removed from a Work, which then goes too early",
	},
	{
		name: "works-without-finalizer", file: "render/work.go",
		old:  `Finalizers: []string{ExecutionFinalizer},`,
		new:  `Finalizers: nil,`,
		harm: "a Work is gone before Karmada has deleted the object in the member, which stays forever",
	},
	{
		name: "marks-stay", file: "render/work.go",
		old:  `m.Labels[HeldKey], m.Annotations[HeldKey] = nil, nil`,
		new:  `_ = m.Labels`,
		harm: "a Work that is wanted again keeps its mark, and an old approval covers it later",
	},
	{
		name: "options-stay-on", file: "render/work.go",
		old:  `return t.assemble(m, "null").For(cluster)`,
		new:  `return t.assemble(m, "").For(cluster)`,
		harm: "an object that is no longer suspended stays suspended, and is written over and over",
	},
	{
		name: "adopted-works-stay-bound", file: "render/work.go",
		old:  `	if adopt {`,
		new:  `	if adopt && cluster == "" {`,
		harm: "a Work that was given back still belongs to another controller, and is never updated",
	},
	{
		name: "every-object-overwrites", file: "render/work.go",
		old: `if t.options.Overwrite {
		rest = appendField`,
		new: `if !t.options.Overwrite {
		rest = appendField`,
		harm: "a member's own object of that name is overwritten although no one asked for it",
	},
	{
		name: "replicas-are-never-retained", file: "render/work.go",
		old: `if t.options.RetainReplicas {
		rest = appendField`,
		new: `if false {
		rest = appendField`,
		harm: "Karmada fights an autoscaler in a member",
	},
	{
		name: "any-object-fits", file: "render/manifest.go",
		old:  `id.GroupKind() != obj.GroupVersionKind().GroupKind() || id.Namespace != obj.GetNamespace() || id.Name != obj.GetName()`,
		new:  `id.GroupKind() != obj.GroupVersionKind().GroupKind() || id.Namespace != obj.GetNamespace()`,
		harm: "a Work carries a different object from the one that it is named after",
	},
	{
		name: "root-certificates-travel", file: "render/system.go",
		old:  `obj.GetName() == "kube-root-ca.crt"`,
		new:  `obj.GetName() == "kube-root-ca"`,
		harm: "the members' pods trust the control plane's certificate instead of their own",
	},
}
