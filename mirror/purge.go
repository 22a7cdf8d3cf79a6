package mirror

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/config"
)

// Purge deletes the Works of what has left the configuration. The daemon never does:
// what it is not told to watch is Unknown to it.
type Purge struct {
	// Resource is the one that has left.
	Resource schema.GroupResource
	// Kind is the resource's; empty if it is not served, and is guessed then.
	Kind schema.GroupKind
	// Configurations are those of all daemons. What one of them has is not deleted.
	Configurations []*config.Configuration

	works workClient
}

// Connect has the deletions go to an API server.
func (p *Purge) Connect(config *rest.Config) (err error) {
	p.works, err = newWorkClient(config)
	return err
}

// Find lists the Works that would be deleted.
func (p *Purge) Find(ctx context.Context, client dynamic.Interface) ([]*Work, error) {
	var found []*Work
	_, err := eachOfOurs(ctx, client, func(obj *unstructured.Unstructured) {
		if w := NewWork(obj); p.takes(w) {
			found = append(found, w)
		}
	})
	return found, err
}

// takes reports whether a Work is to be deleted: it is ours beyond doubt, and no
// configuration has its source.
func (p *Purge) takes(w *Work) bool {
	if w.Foreign != "" || !w.Labelled || w.Terminating || !p.isOf(w.Source.GroupKind()) {
		return false
	}
	for _, c := range p.Configurations {
		if r, ok := c.Resource(p.Resource); ok && r.SelectsNamespace(w.Source.Namespace) {
			return false
		}
	}
	return true
}

func (p *Purge) isOf(kind schema.GroupKind) bool {
	if !p.Kind.Empty() {
		return kind == p.Kind
	}
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
	return plural.GroupResource() == p.Resource
}

// Delete deletes a Work as it was found. One that has changed since is looked at once
// more; one that is gone or not to be deleted any more is left alone.
func (p *Purge) Delete(ctx context.Context, w *Work) (deleted bool, err error) {
	if !p.takes(w) {
		return false, nil
	}
	err = p.works.delete(ctx, w)
	if apierrors.IsConflict(err) {
		again, readErr := p.works.get(ctx, w.Namespace, w.Name)
		switch {
		case apierrors.IsNotFound(readErr):
			return false, nil
		case readErr != nil:
			return false, fmt.Errorf("cannot read Work %s/%s again: %w", w.Namespace, w.Name, readErr)
		case again.UID != w.UID || !p.takes(again):
			return false, nil
		}
		err = p.works.delete(ctx, again)
	}
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("cannot delete Work %s/%s: %w", w.Namespace, w.Name, err)
	}
	return true, nil
}
