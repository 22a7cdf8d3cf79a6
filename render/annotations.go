package render

// Annotations on a source object.
const (
	// ClustersAnnotation lists the member clusters to mirror to; see ParseTerms.
	ClustersAnnotation = "karmada.target/clusters"
	// ClusterSelectorAnnotation is a label selector over Cluster objects.
	ClusterSelectorAnnotation = "karmada.target/cluster-selector"
	// FollowsAnnotation lists objects of the same namespace: it is mirrored wherever they are; see parseLeaders.
	FollowsAnnotation = "karmada.target/follows"
	// SuspendAnnotation, "true", makes Karmada stop applying the Works; terms as in
	// ClustersAnnotation name those of some clusters.
	SuspendAnnotation = "karmada.target/suspend"
	// PreserveOnDeletionAnnotation, "true", keeps the member objects when the
	// Works are deleted.
	PreserveOnDeletionAnnotation = "karmada.target/preserve-on-deletion"
	// ConflictResolutionAnnotation is what Karmada does when a member has an
	// unmanaged object of that name already: "abort" or "overwrite".
	ConflictResolutionAnnotation = "karmada.target/conflict-resolution"
	// ExpandAnnotation, "true", replaces variables in string values by what each cluster says
	// about itself; see Edit.
	ExpandAnnotation = "karmada.target/expand"
	// ReplicasAnnotation divides a workload's number of replicas over its clusters, or, with
	// "retain", leaves it to each member, as for a HorizontalPodAutoscaler there; see
	// ParseDivision.
	ReplicasAnnotation = "karmada.target/replicas"
	// DeletionAnnotation, "foreground", keeps a deleted object until all its Works are gone; the
	// default is "background".
	DeletionAnnotation = "karmada.target/deletion"
	// WavesAnnotation is the order in which a change reaches the clusters; see Waves.
	WavesAnnotation = "karmada.target/waves"
	// WaveBakeAnnotation is for how long a wave must have been healthy before the next begins, and
	// WaveDeadlineAnnotation after how long one that has not come through is reported.
	WaveBakeAnnotation     = "karmada.target/wave-bake"
	WaveDeadlineAnnotation = "karmada.target/wave-deadline"
)

// WorksFinalizer keeps a deleted source, if it asks for that, until its last Work is gone.
const WorksFinalizer = "karmada.target/works"

// Labels and annotations on a Work. Labels are for look-up, annotations for
// identity: a label value is too short for a name.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedByValue = "karmada-mirror"
	// OurWorks is the label selector of the Works that karmada-mirror owns.
	OurWorks         = ManagedByLabel + "=" + ManagedByValue
	SourceIDLabel    = "karmada.target/source-id"
	SourceAnnotation = "karmada.target/source"
	// SourceUIDAnnotation tells a source from an earlier one of the same name.
	SourceUIDAnnotation = "karmada.target/source-uid"
	// SourceCreatedAnnotation is the source's creation timestamp, as RFC 3339. A
	// source that is older than its definition was deleted with an earlier one.
	SourceCreatedAnnotation = "karmada.target/source-created"

	// OverriddenByAnnotation are the override policies that have changed the manifest, by kind and
	// name, separated by commas.
	OverriddenByAnnotation = "karmada.target/overridden-by"
	// RenderedAnnotation identifies what an edited Work was made from, and its content.
	RenderedAnnotation = "karmada.target/rendered"
	// ShareAnnotation is how many replicas of a divided source the Work has.
	ShareAnnotation = "karmada.target/share"

	// WrittenAnnotation identifies the content that was written to a Work of a source in waves, and
	// the generation that this gave to the Work.
	WrittenAnnotation = "karmada.target/written"

	// ExecutionFinalizer keeps a Work until Karmada has deleted the member
	// object. Karmada removes it but never adds it (pkg/util/constants.go and
	// pkg/controllers/execution, v1.18.2).
	ExecutionFinalizer = "karmada.io/execution-controller"
)

// Domain begins each key of ours.
const Domain = "karmada.target/"

// Karmada's own keys that karmada-io/api does not export (pkg/util/constants.go
// in v1.18.2).
const (
	managedLabel        = "karmada.io/managed"
	managedLabelValue   = "true"
	retainReplicasLabel = "resourcetemplate.karmada.io/retain-replicas"
	retainReplicas      = "true"
	claimedByLabel      = "resourcetemplate.karmada.io/claimed-by"
)
