package render

// HandoverAnnotation is on a Work that was ours when a policy claimed its
// source. Its value is that of SourceAnnotation. It stays, so that the Work is
// known again when the policy goes: also if a binding that the policy left behind
// takes it once more.
const HandoverAnnotation = ownPrefix + "handover"

// Release is a JSON merge patch that takes our labels and annotations off a
// Work, at exactly this resource version. The rest stays, and so does the object
// in the member.
func Release(id Identity, resourceVersion string) []byte {
	return metadata{
		ResourceVersion: resourceVersion,
		Labels:          map[string]*string{ManagedByLabel: nil, SourceIDLabel: nil, HeldKey: nil},
		Annotations: map[string]*string{
			SourceAnnotation: nil, SourceUIDAnnotation: nil, SourceCreatedAnnotation: nil, HeldKey: nil,
			HandoverAnnotation: new(id.String()),
		},
	}.patch()
}

// bindingLabels and bindingAnnotations are what Karmada's binding controllers
// put on a Work (mergeLabel and mergeAnnotations in
// pkg/controllers/binding/common.go, v1.18.2).
var (
	bindingLabels = []string{
		bindingIDLabel,
		clusterBindingIDLabel,
	}
	bindingAnnotations = []string{
		bindingNamespaceAnnotation,
		bindingNameAnnotation,
		clusterBindingAnnotation,
		conflictResolutionAnnotation,
		"policy.karmada.io/applied-overrides",
		"policy.karmada.io/applied-cluster-overrides",
	}
)

// unbind removes from a Work what a binding has put on it.
func (m metadata) unbind() {
	for _, key := range bindingLabels {
		m.Labels[key] = nil
	}
	for _, key := range bindingAnnotations {
		m.Annotations[key] = nil
	}
}
