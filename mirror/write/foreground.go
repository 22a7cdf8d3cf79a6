package write

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/karmada-target/karmada-mirror/render"
)

// ErrOtherVersion is returned by SetFinalizer for an object that is not what was judged.
var ErrOtherVersion = errors.New("the object has changed")

// SetFinalizer makes our finalizer be on an object, or not, and reports whether that took a write. Beside an
// error, it reports whether there may have been one that has had no answer. It returns ErrOtherVersion if the
// object has another UID, another resource version than the given one, if any, or is being deleted, so that it
// can get no finalizer. Errors of the API server are returned as they are: whether a 404 proves anything is up
// to the caller.
func SetFinalizer(ctx context.Context, client dynamic.ResourceInterface, name string, uid types.UID, version string, wanted bool) (changed bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		u, err := client.Get(ctx, name, metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case u.GetUID() != uid || version != "" && u.GetResourceVersion() != version:
			return ErrOtherVersion
		case HasFinalizer(u) == wanted:
			return nil
		case wanted && u.GetDeletionTimestamp() != nil:
			return ErrOtherVersion
		}
		inTime, cancel := context.WithTimeout(ctx, Deadline)
		defer cancel()
		_, err = client.Patch(inTime, name, types.MergePatchType, finalizerPatch(u, wanted), metav1.PatchOptions{})
		changed = err == nil || mayHaveHappened(err)
		return err
	})
	return changed, err
}

// RefusedBy says what refuses a write of a source each time, so that the object or a right has to change
// first; empty if nothing does. It quotes nothing of the object, which may be a Secret.
func RefusedBy(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ""
	}
	code := status.Status().Code
	switch {
	case IsDenied(err):
		return denier(err)
	case isTooLarge(err):
		return "the limit on the size of objects"
	case apierrors.IsInvalid(err):
		return "the validation of " + invalidFields(err)
	case slices.Contains([]int32{http.StatusUnauthorized, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests}, code):
		return ""
	case code >= http.StatusBadRequest && code < http.StatusInternalServerError:
		return "the API server (" + http.StatusText(int(code)) + ")"
	}
	return ""
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
