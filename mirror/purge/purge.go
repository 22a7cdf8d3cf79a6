// Package purge deletes the Works of sources that have left the configuration. The daemon
// never does: what it is not configured to watch is Unknown to it.
package purge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/mirror/write"
	"github.com/karmada-target/karmada-mirror/watch"
)

// Leftovers are the Works of a resource whose sources are in no configuration.
type Leftovers struct {
	// Resource is the one that has left the configuration.
	Resource schema.GroupResource
	// Kind is the resource's kind; if it is empty (not served), kinds are matched by the breaker's marks, or a guess.
	Kind schema.GroupKind
	// Configurations are those of all daemons. Works of sources in any of them are kept.
	Configurations []*config.Configuration

	client write.Client
}

// Connect sets the API server to delete Works on.
func (l *Leftovers) Connect(connection *rest.Config) (err error) {
	l.client, err = write.NewClient(connection)
	return err
}

// Find lists the Works that would be deleted.
func (l *Leftovers) Find(ctx context.Context, client dynamic.Interface) ([]*state.Work, error) {
	var found []*state.Work
	_, err := gather.EachWork(ctx, client, func(obj *unstructured.Unstructured) {
		if w := state.NewWork(obj); l.takes(w) {
			found = append(found, w)
		}
	})
	return found, err
}

// takes reports whether a Work would be deleted: it is certainly ours, and its source is in
// no configuration.
func (l *Leftovers) takes(w *state.Work) bool {
	if w.Foreign != "" || !w.Labelled || w.Terminating || !l.isOf(w) {
		return false
	}
	return !l.isConfigured(w.Source.Namespace)
}

// isConfigured reports whether a configuration includes the resource in a namespace.
func (l *Leftovers) isConfigured(namespace string) bool {
	return slices.ContainsFunc(l.Configurations, func(c *config.Configuration) bool {
		r, ok := c.Resource(l.Resource)
		return ok && r.SelectsNamespace(namespace)
	})
}

func (l *Leftovers) isOf(w *state.Work) bool {
	kind := w.Source.GroupKind()
	if !l.Kind.Empty() {
		return kind == l.Kind
	}
	if marked := w.MarkedResource(); marked.Resource != "" {
		return marked == l.Resource
	}
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
	return plural.GroupResource() == l.Resource
}

// Delete deletes a Work as it was found. It reads a Work that has changed since again, and
// skips one that is gone or must no longer be deleted.
func (l *Leftovers) Delete(ctx context.Context, w *state.Work) (deleted bool, err error) {
	if !l.takes(w) {
		return false, nil
	}
	isDoubled, err := l.client.IsDoubled(ctx, w)
	if err != nil {
		return false, err
	}
	err = l.client.Delete(ctx, w, isDoubled)
	if apierrors.IsConflict(err) || errors.Is(err, write.ErrPrepared) {
		again, readErr := l.client.Get(ctx, w.Namespace, w.Name)
		switch {
		case apierrors.IsNotFound(readErr):
			return false, nil
		case readErr != nil:
			return false, fmt.Errorf("cannot read Work %s/%s again: %w", w.Namespace, w.Name, readErr)
		case again.UID != w.UID || !l.takes(again):
			return false, nil
		}
		err = l.client.Delete(ctx, again, isDoubled)
	}
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("cannot delete Work %s/%s: %w", w.Namespace, w.Name, err)
	}
	return true, nil
}

// Finalized lists the objects of the resource that have our finalizer and are in no configuration.
func (l *Leftovers) Finalized(ctx context.Context, client dynamic.Interface, served schema.GroupVersionResource) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	_, err := watch.Each(ctx, client.Resource(served), metav1.ListOptions{}, func(u *unstructured.Unstructured) {
		if write.HasFinalizer(u) && !l.isConfigured(u.GetNamespace()) {
			found = append(found, u)
		}
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
