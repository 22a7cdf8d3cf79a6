package purge

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/write"
)

// Finalized lists the objects of the resource that have our finalizer and are in no configuration.
func (l *Leftovers) Finalized(ctx context.Context, client dynamic.Interface, served schema.GroupVersionResource) ([]*unstructured.Unstructured, error) {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return client.Resource(served).List(ctx, o)
	})
	var found []*unstructured.Unstructured
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
		if u := obj.(*unstructured.Unstructured); write.HasFinalizer(u) && !l.isConfigured(u.GetNamespace()) {
			found = append(found, u)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", l.Resource, err)
	}
	return found, nil
}

// Release removes our finalizer from an object, unless it is in a configuration now.
func (l *Leftovers) Release(ctx context.Context, client dynamic.Interface, served schema.GroupVersionResource, u *unstructured.Unstructured) (released bool, err error) {
	if l.isConfigured(u.GetNamespace()) {
		return false, nil
	}
	released, err = write.SetFinalizer(ctx, client.Resource(served).Namespace(u.GetNamespace()), u.GetName(), u.GetUID(), "", false)
	switch {
	case gather.ProvesAbsence(err, u.GetName()), errors.Is(err, write.ErrOtherVersion):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("cannot remove the finalizer of %s: %w", gather.IdentityOf(u), err)
	}
	return released, nil
}
