package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// move does what is to be done. Each step finds out what of it is done already.
func (a *adoptCommand) move(ctx context.Context, todo *adoption) error {
	p, err := a.read(ctx)
	if err != nil {
		return err
	}
	refs, err := a.annotate(ctx, p, todo)
	if err != nil {
		return err
	}
	if err := a.preserve(ctx, p, todo); err != nil {
		return err
	}
	if err := a.unbind(ctx, p, todo); err != nil {
		return err
	}
	applied := &waitCommand{sources: a.sources, until: untilApplied, timeout: a.timeout, out: a.out}
	if err := applied.all(ctx, refs); err != nil {
		return err
	}
	for _, o := range todo.Objects {
		_, resource, err := a.resource(o)
		if err != nil {
			return err
		}
		settled := patchOf(map[string]any{"uid": o.Resource.UID, "annotations": map[string]any{render.ConflictResolutionAnnotation: nil}}, nil)
		if todo.Overwrites {
			continue
		} else if _, err := resource.Patch(ctx, o.Resource.Name, types.MergePatchType, settled, metav1.PatchOptions{}); err != nil && !isAnother(err) {
			return err
		}
	}
	err = a.client.Resource(configMaps).Namespace(a.store.Namespace).Delete(ctx, a.store.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) { // another run was faster
		return nil
	}
	return err
}

// isAnother reports whether a patch has found that the object is gone, or another one of that name.
func isAnother(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

// annotate annotates the objects, which the daemon leaves to the policy for now; once the policy is gone, that was done. It returns
// those that still exist.
func (a *adoptCommand) annotate(ctx context.Context, p policyOf, todo *adoption) (refs []gather.SourceRef, err error) {
	for _, o := range todo.Objects {
		ref, resource, err := a.resource(o)
		if err != nil {
			return nil, err
		}
		if p.object != nil {
			_, err = resource.Patch(ctx, o.Resource.Name, types.MergePatchType, o.patch(), metav1.PatchOptions{})
		} else {
			var u *unstructured.Unstructured
			if u, err = resource.Get(ctx, o.Resource.Name, metav1.GetOptions{}); err == nil && u.GetUID() != o.Resource.UID {
				err = apierrors.NewNotFound(ref.Mapping.Resource.GroupResource(), o.Resource.Name)
			}
		}
		switch {
		case isAnother(err) && p.object == nil:
			fmt.Fprintf(a.out, "%s was deleted meanwhile: %s may still have it\n", o, strings.Join(o.Clusters, ", "))
			continue
		case err != nil:
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// preserve makes the policy keep the objects in the members, and waits until all Works say so.
func (a *adoptCommand) preserve(ctx context.Context, p policyOf, todo *adoption) error {
	if p.object != nil {
		patch := patchOf(map[string]any{"uid": todo.UID}, preserving)
		if _, err := p.resource.Patch(ctx, p.object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return a.until(ctx, "the Works to preserve their objects", todo, func(o adopted) (bool, error) { return a.preserves(ctx, todo, o) })
}

// preserving is what the spec of a policy, or of a binding, says to preserve its objects, and to take them over where they are.
var preserving = map[string]any{"preserveResourcesOnDeletion": true, "conflictResolution": string(policyv1alpha1.ConflictOverwrite)}

// preserves reports whether a binding and all its Works preserve the object; a binding that is gone does. It fails if another policy
// has taken it over.
func (a *adoptCommand) preserves(ctx context.Context, todo *adoption, o adopted) (bool, error) {
	binding, err := a.client.Resource(o.bindings()).Namespace(o.Resource.Namespace).Get(ctx, o.Binding, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	if err != nil || binding.GetDeletionTimestamp() != nil { // an earlier run has deleted it
		return true, nil
	}
	if err := todo.owns(o, binding); err != nil || !isPreserving(*binding) && !isEmptied(binding) {
		return false, err
	}
	return a.worksPreserve(ctx, o, binding)
}

// owns returns an error if a binding is not what it was: another one, another policy's, or what another object depends on.
func (todo *adoption) owns(o adopted, binding *unstructured.Unstructured) error {
	if binding.GetUID() != o.UID {
		return fmt.Errorf("%s has another binding than before", o)
	}
	if by, claimed := render.ClaimedBy(binding.GetLabels(), nil); claimed && (todo.ID == "" || binding.GetLabels()[todo.Label] != todo.ID) {
		return fmt.Errorf("another policy has taken over %s (%s): exclude the object from it", o, by)
	}
	required, _, _ := unstructured.NestedSlice(binding.Object, "spec", "requiredBy")
	for _, entry := range required {
		by, _ := entry.(map[string]any)
		if !slices.ContainsFunc(todo.Objects, func(of adopted) bool {
			return of.Binding == by["name"] && of.Resource.Namespace == o.Resource.Namespace
		}) {
			return fmt.Errorf("%s is now a dependency of binding %v of another policy, too: move that first", o, by["name"])
		}
	}
	return nil
}

// worksPreserve reports whether all Works of a binding preserve the object: a list that lacks the Work of a cluster proves nothing, unless
// the daemon has it, which takes back what it had released to a policy as soon as the policy is gone.
func (a *adoptCommand) worksPreserve(ctx context.Context, o adopted, binding *unstructured.Unstructured) (bool, error) {
	works, err := a.client.Resource(render.WorksResource).List(ctx, o.works())
	if err != nil {
		return false, err
	}
	unseen := sets.New[string]()
	if !isEmptied(binding) {
		for _, cluster := range o.Clusters {
			unseen.Insert(render.ExecutionNamespace(cluster))
		}
	}
	for _, work := range works.Items {
		if !isPreserving(work) {
			return false, nil
		}
		unseen.Delete(work.GetNamespace())
	}
	if len(unseen) == 0 {
		return true, nil
	}
	ref, _, err := a.resource(o)
	if err != nil {
		return false, err
	}
	own := metav1.ListOptions{LabelSelector: render.OurWorks + "," + render.SourceIDLabel + "=" + ref.Identity().ID()}
	if works, err = a.client.Resource(render.WorksResource).List(ctx, own); err != nil {
		return false, err
	}
	for i := range works.Items {
		if w := state.NewWork(&works.Items[i]); w.IsOursFor(ref.Identity()) && !w.Terminating {
			unseen.Delete(w.Namespace)
		}
	}
	return len(unseen) == 0, nil
}

// isPreserving reports whether a binding or a Work preserves its object.
func isPreserving(u unstructured.Unstructured) bool {
	does, _, _ := unstructured.NestedBool(u.Object, "spec", "preserveResourcesOnDeletion")
	return does
}

// isEmptied reports whether Karmada has made the binding of a dependency one of nothing, since what depended on it is gone: it then
// no longer says what its Works do.
func isEmptied(binding *unstructured.Unstructured) bool {
	clusters, _, _ := unstructured.NestedSlice(binding.Object, "spec", "clusters")
	required, _, _ := unstructured.NestedSlice(binding.Object, "spec", "requiredBy")
	return len(clusters)+len(required) == 0
}

// unbind deletes the policy, and then the bindings that it leaves behind, and waits until their Works are gone.
func (a *adoptCommand) unbind(ctx context.Context, p policyOf, todo *adoption) error {
	if p.object != nil {
		now, err := a.bindings(ctx, p)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(now, func(b workv1alpha2.ResourceBinding) bool {
			return !slices.ContainsFunc(todo.Objects, func(o adopted) bool { return o.UID == b.UID })
		}) {
			return errors.New("the policy propagates more objects than before")
		}
		err = p.resource.Delete(ctx, p.object.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(todo.UID))})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		err = a.until(ctx, "the policy to be gone", &adoption{Objects: []adopted{{}}}, func(adopted) (bool, error) {
			now, err := p.resource.Get(ctx, p.object.GetName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) || err == nil && now.GetUID() != todo.UID {
				return true, nil
			}
			return false, err
		})
		if err != nil {
			return err
		}
	}
	if err := a.until(ctx, "the bindings to be left behind", todo, func(o adopted) (bool, error) { return a.release(ctx, todo, o) }); err != nil {
		return err
	}
	return a.until(ctx, "the Works of the bindings to be gone", todo, func(o adopted) (bool, error) {
		works, err := a.client.Resource(render.WorksResource).List(ctx, o.works())
		return err == nil && len(works.Items) == 0, err
	})
}

// release deletes a binding that no policy stands behind any more, and reports whether it is gone. It fails if another policy has
// taken it over.
func (a *adoptCommand) release(ctx context.Context, todo *adoption, o adopted) (bool, error) {
	resource := a.client.Resource(o.bindings()).Namespace(o.Resource.Namespace)
	binding, err := resource.Get(ctx, o.Binding, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, err
	case binding.GetDeletionTimestamp() != nil || todo.ID != "" && binding.GetLabels()[todo.Label] == todo.ID: // Karmada has not seen that the policy is gone
		return false, nil
	}
	if err := todo.owns(o, binding); err != nil {
		return false, err
	}
	if !isPreserving(*binding) && !isEmptied(binding) { // the policy has said otherwise in between
		_, err := resource.Patch(ctx, o.Binding, types.MergePatchType, patchOf(map[string]any{"uid": o.UID}, preserving), metav1.PatchOptions{})
		return false, err
	}
	if does, err := a.worksPreserve(ctx, o, binding); err != nil || !does {
		return false, err
	}
	err = resource.Delete(ctx, o.Binding, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.UID, ResourceVersion: new(binding.GetResourceVersion())}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		err = nil
	}
	return false, err
}

// until waits until something holds of all objects.
func (a *adoptCommand) until(ctx context.Context, what string, todo *adoption, holds func(adopted) (bool, error)) error {
	var missing []string
	err := wait.PollUntilContextCancel(ctx, waitPeriod, true, func(context.Context) (bool, error) {
		missing = nil
		for _, o := range todo.Objects {
			ok, err := holds(o)
			if err != nil && (!isTransient(err) || ctx.Err() != nil) {
				return false, err
			}
			if !ok {
				missing = append(missing, o.String())
			}
		}
		return len(missing) == 0, nil
	})
	if err != nil && ctx.Err() != nil {
		tried := "waited in vain for"
		if errors.Is(ctx.Err(), context.Canceled) {
			tried = "interrupted while waiting for"
		}
		return fmt.Errorf("%s %s: %s", tried, what, strings.Join(missing, ", "))
	}
	return err
}
