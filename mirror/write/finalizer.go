package write

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/karmada-target/karmada-mirror/render"
)

// SetFinalizer makes our finalizer be on an object, or not, and reports whether that took a write. It
// leaves alone an object of another UID; an object that is being deleted can get no finalizer.
func SetFinalizer(ctx context.Context, client dynamic.ResourceInterface, name string, uid types.UID, wanted bool) (changed bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		u, err := client.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return fmt.Errorf("cannot read %q: %w", name, err)
		case u.GetUID() != uid || HasFinalizer(u) == wanted || wanted && u.GetDeletionTimestamp() != nil:
			return nil
		}
		_, err = client.Patch(ctx, name, types.MergePatchType, finalizerPatch(u, wanted), metav1.PatchOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot write the finalizers of %q: %w", name, err)
		}
		changed = true
		return nil
	})
	return changed, err
}

// HasFinalizer reports whether an object has our finalizer.
func HasFinalizer(u *unstructured.Unstructured) bool {
	return slices.Contains(u.GetFinalizers(), render.WorksFinalizer)
}

// finalizerPatch returns the merge patch that adds our finalizer to exactly this version of an object,
// or removes it. The others stay.
func finalizerPatch(u *unstructured.Unstructured, add bool) []byte {
	finalizers := slices.DeleteFunc(slices.Clone(u.GetFinalizers()), func(of string) bool { return of == render.WorksFinalizer })
	if add {
		finalizers = append(finalizers, render.WorksFinalizer)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": u.GetUID(), "resourceVersion": u.GetResourceVersion(), "finalizers": finalizers}})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return patch
}
