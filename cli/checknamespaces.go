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

// maxNamed is how many Namespaces a warning names.
const maxNamed = 5

// checkNamespaces looks for Namespaces whose deletion would empty members: Karmada deletes a
// Namespace in the members by a Work of its own, which our breaker does not hold.
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
		c.warn(fmt.Sprintf("kubectl label namespace %s %s=%s", strings.Join(unprotected[:min(len(unprotected), maxNamed)], " "), workv1alpha2.DeletionProtectionLabelKey, workv1alpha2.DeletionProtectionAlways),
			"%s: deleting a Namespace that has a default also deletes it in the members, with everything in it, and the deletion breaker does not hold that", named(unprotected))
	case withDefault > 0:
		c.pass("Namespaces with a default are protected from deletion: all %d are labelled %s", withDefault, workv1alpha2.DeletionProtectionLabelKey)
	}
	return nil
}

// named lists the first names, and how many more there are.
func named(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}
