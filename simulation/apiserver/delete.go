package apiserver

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// Delete deletes an object, or marks it if it has finalizers.
func (s *Store) Delete(r Ref, options metav1.DeleteOptions) error {
	_, _, err := s.delete(r, options)
	return err
}

// delete returns the object's last state, and whether it is gone.
func (s *Store) delete(r Ref, options metav1.DeleteOptions) (*revision, bool, error) {
	defer s.tell()
	if errs := validation.ValidateDeleteOptions(&options); len(errs) > 0 {
		return nil, false, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	dryRun := len(options.DryRun) > 0
	for {
		c := s.collection(r.Resource)
		if c == nil {
			return nil, false, errNotServed(r.Resource)
		}
		old := s.get(r)
		if old == nil {
			return nil, false, apierrors.NewNotFound(r.Resource, r.Name)
		}
		if err := c.checkPreconditions(old, options.Preconditions); err != nil {
			return nil, false, err
		}
		if err := s.admitDeletion(r.Resource, old.object); err != nil {
			return nil, false, err
		}
		if err := immortal(c, old); err != nil {
			return nil, false, err
		}
		next := c.marked(old, options, s.now())
		if next != nil && (dryRun || equal(next.object, old.object)) {
			return next, false, nil
		}
		if dryRun {
			return old, true, nil
		}
		if ok, stored := s.commit(c, old, next); ok {
			return stored, next == nil, nil
		}
	}
}

func (s *Store) admitDeletion(gr schema.GroupResource, old Object) error {
	s.mu.Lock()
	admissions := s.admissions
	s.mu.Unlock()
	for _, a := range admissions {
		if _, err := (*a)(opDelete, gr, "", nil, old); err != nil {
			return err
		}
	}
	return nil
}

// checkPreconditions is rest.BeforeDelete's; it names the kind where others name the resource.
func (c *collection) checkPreconditions(old *revision, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	m := metadata(old.object)
	gr := schema.GroupResource{Group: c.Group, Resource: c.Kind}
	if p.UID != nil && string(*p.UID) != text(m, "uid") {
		return apierrors.NewConflict(gr, old.name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, m["uid"]))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != text(m, "resourceVersion") {
		return apierrors.NewConflict(gr, old.name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, m["resourceVersion"]))
	}
	return nil
}

// marked is the object while it waits for its finalizers, or nil if it has none.
func (c *collection) marked(old *revision, options metav1.DeleteOptions, now metav1.Time) *revision {
	o, m := old.at(old.revision).object, old.decodedMeta().DeepCopy()
	finalizers := m.Finalizers
	if c.Kind != "Event" { // nothing collects them
		finalizers = finalizersFor(finalizers, options)
	}
	if c.GroupResource() == definitionsResource() && m.DeletionTimestamp == nil {
		finalizers = append(finalizers, cleanupFinalizer)
	}
	switch {
	case isNamespaces(c) && m.DeletionTimestamp == nil:
		setPhase(o, corev1.NamespaceTerminating)
	case isNamespaces(c) && len(namespaceFinalizers(o)) > 0:
		return old
	case len(finalizers) == 0:
		return nil
	default:
		m.DeletionGracePeriodSeconds = ptr.To[int64](0)
	}
	m.Finalizers = finalizers
	if m.DeletionTimestamp == nil {
		if m.Generation > 0 {
			m.Generation++
		}
		m.DeletionTimestamp = &now
	}
	c.encodeMeta(o, m)
	return newRevision(o)
}

// finalizersFor sets those of the garbage collector (deletionFinalizersForGarbageCollection of
// apiserver's pkg/registry/generic/registry/store.go).
func finalizersFor(finalizers []string, options metav1.DeleteOptions) []string {
	has := func(f string) bool { return slices.Contains(finalizers, f) }
	orphan, foreground := has(metav1.FinalizerOrphanDependents), has(metav1.FinalizerDeleteDependents) && !has(metav1.FinalizerOrphanDependents)
	if options.PropagationPolicy != nil {
		orphan, foreground = *options.PropagationPolicy == metav1.DeletePropagationOrphan, *options.PropagationPolicy == metav1.DeletePropagationForeground
	}
	kept := slices.DeleteFunc(slices.Clone(finalizers), isCollectors)
	if orphan {
		kept = append(kept, metav1.FinalizerOrphanDependents)
	}
	if foreground {
		kept = append(kept, metav1.FinalizerDeleteDependents)
	}
	return kept
}

func isCollectors(finalizer string) bool {
	return finalizer == metav1.FinalizerOrphanDependents || finalizer == metav1.FinalizerDeleteDependents
}
