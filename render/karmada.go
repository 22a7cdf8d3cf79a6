package render

import (
	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Names from Karmada's own API module: this file holds everything that we take from its
// API of Works.
const (
	workGroup   = workv1alpha1.GroupName
	workVersion = "v1alpha1"
	workKind    = workv1alpha1.ResourceKindWork

	// AppliedCondition is the condition of a Work that says whether it is applied.
	AppliedCondition = workv1alpha1.WorkApplied
)

// WorksResource is the resource of Works.
var WorksResource = schema.GroupVersionResource{Group: workGroup, Version: workVersion, Resource: workv1alpha1.ResourcePluralWork}

// Labels and annotations of Works and of their manifests.
const (
	clusterBindingAnnotation     = workv1alpha2.ClusterResourceBindingAnnotationKey
	clusterBindingIDLabel        = workv1alpha2.ClusterResourceBindingPermanentIDLabel
	managedAnnotationsAnnotation = workv1alpha2.ManagedAnnotation
	managedLabelsAnnotation      = workv1alpha2.ManagedLabels
	bindingNameAnnotation        = workv1alpha2.ResourceBindingNameAnnotationKey
	bindingNamespaceAnnotation   = workv1alpha2.ResourceBindingNamespaceAnnotationKey
	bindingIDLabel               = workv1alpha2.ResourceBindingPermanentIDLabel
	conflictAbort                = workv1alpha2.ResourceConflictResolutionAbort
	conflictResolutionAnnotation = workv1alpha2.ResourceConflictResolutionAnnotation
	conflictOverwrite            = workv1alpha2.ResourceConflictResolutionOverwrite
	templateGenerationAnnotation = workv1alpha2.ResourceTemplateGenerationAnnotationKey
	templateUIDAnnotation        = workv1alpha2.ResourceTemplateUIDAnnotation
	workNameAnnotation           = workv1alpha2.WorkNameAnnotation
	workNamespaceAnnotation      = workv1alpha2.WorkNamespaceAnnotation
	workIDLabel                  = workv1alpha2.WorkPermanentIDLabel
)
