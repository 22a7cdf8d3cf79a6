package cli

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
)

// dryRun asks the API server what it would make of an object, and changes nothing.
type dryRun struct {
	client dynamic.ResourceInterface
}

// The field managers of kubectl apply.
const (
	clientSideManager = "kubectl-client-side-apply"
	serverSideManager = "kubectl"
)

var dryRunAll = []string{metav1.DryRunAll}

// apply returns what an object becomes if it is applied the way it was before: by kubectl's
// client-side apply if it has the annotation for that, or else server-side by the only field
// manager that has applied it. Fields that the manifest lacks are then removed.
func (d dryRun) apply(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := d.client.Get(ctx, obj.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return d.create(ctx, obj)
	}
	if err != nil {
		return nil, err
	}
	if before := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; before != "" {
		return d.patch(ctx, []byte(before), obj, live)
	}
	return d.client.Apply(ctx, obj.GetName(), withoutServerFields(obj), metav1.ApplyOptions{DryRun: dryRunAll, Force: true, FieldManager: managerOf(live)})
}

// create returns what a new object becomes, without its UID: that of a dry run means nothing.
func (d dryRun) create(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	made, err := d.client.Create(ctx, obj, metav1.CreateOptions{DryRun: dryRunAll, FieldManager: clientSideManager})
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(made.Object, "metadata", "uid")
	unstructured.RemoveNestedField(made.Object, "metadata", "creationTimestamp")
	return made, nil
}

// patch merges what was last applied, the manifest and the live object, as kubectl apply does.
func (d dryRun) patch(ctx context.Context, before []byte, obj, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	after, err := obj.MarshalJSON()
	if err != nil {
		return nil, err
	}
	current, err := live.MarshalJSON()
	if err != nil {
		return nil, err
	}
	kind, patch := types.MergePatchType, []byte(nil)
	if typed, unknown := scheme.Scheme.New(obj.GroupVersionKind()); runtime.IsNotRegisteredError(unknown) {
		patch, err = jsonmergepatch.CreateThreeWayJSONMergePatch(before, after, current)
	} else {
		var meta strategicpatch.PatchMetaFromStruct
		if meta, err = strategicpatch.NewPatchMetaFromStruct(typed); err == nil {
			kind = types.StrategicMergePatchType
			patch, err = strategicpatch.CreateThreeWayMergePatch(before, after, current, meta, true)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot merge it with the live object: %w", err)
	}
	return d.client.Patch(ctx, obj.GetName(), kind, patch, metav1.PatchOptions{DryRun: dryRunAll, FieldManager: clientSideManager})
}

// managerOf returns the only field manager that has applied an object server-side; kubectl if
// there is none, or more than one.
func managerOf(live *unstructured.Unstructured) string {
	found := ""
	for _, entry := range live.GetManagedFields() {
		if entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" {
			continue
		}
		if found != "" && found != entry.Manager {
			return serverSideManager
		}
		found = entry.Manager
	}
	if found == "" {
		return serverSideManager
	}
	return found
}

// withoutServerFields removes the fields that a manifest read from an API server has from there,
// and that prevent applying it.
func withoutServerFields(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(obj.Object, "status")
	return obj
}
