package cli

import (
	"context"
	"fmt"
	"strings"

	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/karmada-target/karmada-mirror/render"
)

// maxNamed is how many Namespaces are named.
const maxNamed = 5

// checkNamespaces looks for Namespaces whose deletion would empty members: Karmada deletes a
// Namespace in the members with its own Work, which no breaker of ours holds.
func (c *checker) checkNamespaces(ctx context.Context) error {
	withDefault, unprotected := 0, []string{}
	namespaces := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.CoreV1().Namespaces().List(ctx, o)
	})
	err := namespaces.EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
		n := obj.(*corev1.Namespace)
		if wishes := render.ReadWishes(n.Annotations); !wishes.Ask() || wishes.OptOut() {
			return nil
		}
		withDefault++
		if n.Labels[workv1alpha2.DeletionProtectionLabelKey] != workv1alpha2.DeletionProtectionAlways {
			unprotected = append(unprotected, n.Name)
		}
		return nil
	})
	switch {
	case apierrors.IsForbidden(err):
		return nil // the rights are looked at above
	case err != nil:
		return fmt.Errorf("cannot list the namespaces: %w", err)
	case len(unprotected) > 0:
		c.warn(fmt.Sprintf("kubectl label namespace %s %s=%s", unprotected[0], workv1alpha2.DeletionProtectionLabelKey, workv1alpha2.DeletionProtectionAlways),
			"%s: whoever deletes a Namespace with a default deletes it in the members too, with all that is in it, and no breaker holds that", named(unprotected))
	case withDefault > 0:
		c.pass("no Namespace with a default can be deleted by mistake: all %d are labelled %s", withDefault, workv1alpha2.DeletionProtectionLabelKey)
	}
	return nil
}

// named lists some names, and how many more there are.
func named(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}
