package cli

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
)

// finalized lists the objects whose finalizer is to be removed.
func (p *purgeCommand) finalized(ctx context.Context) ([]*unstructured.Unstructured, error) {
	if !p.finalizers || p.served.Version == "" {
		return nil, nil
	}
	return p.leftovers.Finalized(ctx, p.dynamic, p.served)
}

// release removes finalizers. Like delete, it continues after a failure, and follows the
// configuration.
func (p *purgeCommand) release(ctx context.Context, objects []*unstructured.Unstructured) error {
	var errs []error
	count := 0
	for i, u := range objects {
		if i%purgeBatch == 0 {
			if err := p.configure(ctx); err != nil {
				return errors.Join(append(errs, err)...)
			}
		}
		released, err := p.leftovers.Release(ctx, p.dynamic, p.served, u)
		if err != nil {
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
			continue
		}
		if released {
			count++
			fmt.Fprintf(p.out, "%s: finalizer removed\n", gather.IdentityOf(u))
		}
	}
	if len(objects) > 0 {
		fmt.Fprintf(p.out, "The finalizers of %d objects removed.\n", count)
	}
	return errors.Join(errs...)
}
