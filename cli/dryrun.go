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

// The managers of fields that kubectl apply has.
const (
	clientSideManager = "kubectl-client-side-apply"
	serverSideManager = "kubectl"
)

var dryRunAll = []string{metav1.DryRunAll}

// apply is what becomes of an object that is applied as it was before: by kubectl on the
// client's side if it bears the annotation for that, or else by whoever alone has applied it on
// the server's. What is missing in the manifest then goes.
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

// create is what becomes of a new object. The UID of a dry run is nobody's.
func (d dryRun) create(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	made, err := d.client.Create(ctx, obj, metav1.CreateOptions{DryRun: dryRunAll, FieldManager: clientSideManager})
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(made.Object, "metadata", "uid")
	unstructured.RemoveNestedField(made.Object, "metadata", "creationTimestamp")
	return made, nil
}

// patch merges what was applied last, what is to be applied and what is there, as kubectl apply
// does.
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
		return nil, fmt.Errorf("cannot merge it with what is there: %w", err)
	}
	return d.client.Patch(ctx, obj.GetName(), kind, patch, metav1.PatchOptions{DryRun: dryRunAll, FieldManager: clientSideManager})
}

// managerOf is who alone has applied an object on the server's side; kubectl if that is not one.
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

// withoutServerFields leaves out what a manifest that was got from an API server has of it, and
// what would keep it from being applied.
func withoutServerFields(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(obj.Object, "status")
	return obj
}
