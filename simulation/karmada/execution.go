package karmada

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

const (
	executionController = "execution-controller"
	statusController    = "work-status-controller"
	syncSucceed         = "SyncSucceed"
	syncFailed          = "SyncFailed"
)

// reconcile is the execution controller (pkg/controllers/execution/execution_controller.go).
func (m *Member) reconcile(ref apiserver.Ref) error {
	work := m.k.control.Get(ref)
	if work == nil {
		return nil
	}
	cluster := m.cluster()
	if cluster == nil {
		return fmt.Errorf("clusters.cluster.karmada.io %q not found", m.Name)
	}
	isReady := isTrue(cluster, clusterv1alpha1.ClusterConditionReady)
	if in(work).GetDeletionTimestamp() != nil {
		if err := m.end(work, isReady, in(cluster).GetDeletionTimestamp() != nil); err != nil {
			return err
		}
		return removeFinalizer(m.k.control, ref, executionFinalizer)
	}
	isSuspended := boolAt(work, "spec", "suspendDispatching")
	if err := m.dispatching(ref, work, isSuspended); err != nil || isSuspended {
		return err
	}
	if !isReady {
		return fmt.Errorf("cluster(%s) not ready", m.Name)
	}
	return m.sync(ref, work)
}

// dispatching sets the condition of this name if its status is another.
func (m *Member) dispatching(ref apiserver.Ref, work Object, isSuspended bool) error {
	status, reason, message := metav1.ConditionTrue, "Dispatching", "Work is being dispatched to member clusters."
	if isSuspended {
		status, reason, message = metav1.ConditionFalse, "SuspendDispatching", "Work dispatching is in a suspended state."
	}
	if slices.ContainsFunc(listAt(work, "status", "conditions"), func(c any) bool {
		return stringAt(c.(Object), "type") == workv1alpha1.WorkDispatching && stringAt(c.(Object), "status") == string(status)
	}) {
		return nil
	}
	err := setStatus(m.k.control, ref, func(o Object) {
		setCondition(o, workv1alpha1.WorkDispatching, string(status), reason, message)
	})
	if err == nil {
		m.k.recorder.event(executionController, work, corev1.EventTypeNormal, "WorkDispatching", message)
	}
	return err
}

// sync applies the manifests of a Work and says so.
func (m *Member) sync(ref apiserver.Ref, work Object) error {
	status, reason, message := metav1.ConditionTrue, "AppliedSuccessful", "Manifest has been successfully applied"
	var failures []string
	all := manifests(work)
	for _, manifest := range all {
		err := m.apply(copyOf(manifest))
		if meta.IsNoMatchError(err) && m.k.options.Version == V119 {
			return err // before a condition is written
		}
		name := in(manifest).GetNamespace() + "/" + in(manifest).GetName()
		if err != nil {
			m.sourceEvent(executionController, manifest, corev1.EventTypeWarning, syncFailed, fmt.Sprintf("Failed to create or update resource(%s) in member cluster(%s): %v", strings.TrimPrefix(name, "/"), m.Name, err))
			failures = append(failures, err.Error())
			continue
		}
		m.sourceEvent(executionController, manifest, corev1.EventTypeNormal, syncSucceed, fmt.Sprintf("Successfully applied resource(%s) to cluster %s", name, m.Name))
	}
	var failure error
	if len(failures) > 0 {
		text := failures[0]
		if len(failures) > 1 {
			text = "[" + strings.Join(failures, ", ") + "]" // as errors.NewAggregate
		}
		failure = errors.New(text)
		status, reason, message = metav1.ConditionFalse, "AppliedFailed", fmt.Sprintf("Failed to apply all manifests (%d/%d): %s", len(all)-len(failures), len(all), text)
	}
	if err := m.applied(ref, status, reason, message); err != nil {
		failure = errors.Join(failure, err)
	}
	key := ref.Namespace + "/" + ref.Name
	if failure != nil {
		m.k.recorder.event(executionController, work, corev1.EventTypeWarning, syncFailed, fmt.Sprintf("Failed to sync work(%s) to cluster(%s), err: %v", key, m.Name, failure))
		return failure
	}
	m.k.recorder.event(executionController, work, corev1.EventTypeNormal, syncSucceed, fmt.Sprintf("Sync work(%s) to cluster(%s) successful.", key, m.Name))
	return nil
}

// applied sets the condition of this name.
func (m *Member) applied(ref apiserver.Ref, status metav1.ConditionStatus, reason, message string) error {
	return setStatus(m.k.control, ref, func(o Object) {
		setCondition(o, workv1alpha1.WorkApplied, string(status), reason, message)
	})
}

// sourceEvent writes an Event about the source of a manifest, which is known by its UID (GenEventRef, pkg/util/work.go).
func (m *Member) sourceEvent(component string, manifest Object, kind, reason, message string) {
	u := in(manifest)
	if uid := u.GetAnnotations()[workv1alpha2.ResourceTemplateUIDAnnotation]; uid != "" {
		m.k.recorder.write(occurrence{subject{component, u.GetAPIVersion(), u.GetKind(), u.GetNamespace(), u.GetName(), uid}, kind, reason, message})
	}
}

// end removes the objects of a Work that is deleted from the member, or what makes them Karmada's.
func (m *Member) end(work Object, isReady, isLeaving bool) error {
	preserve := boolAt(work, "spec", "preserveResourcesOnDeletion")
	if !preserve && !isReady {
		if isLeaving {
			return nil
		}
		return fmt.Errorf("cluster(%s) not ready", m.Name)
	}
	for _, manifest := range manifests(work) {
		key, err := m.keyOf(manifest)
		if err != nil {
			return err
		}
		observed := m.Store.Get(key.object)
		switch {
		case preserve && observed == nil:
			return apierrors.NewNotFound(key.object.Resource, key.object.Name)
		case preserve:
			desired := copyOf(manifest)
			disown(desired)
			err = m.update(key, desired, observed)
		case observed != nil && isManaged(observed):
			err = m.reach(func() error { return m.Store.Delete(key.object, deleteOptions(metav1.DeletePropagationBackground)) })
			m.record(key, "")
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// disown removes what makes an object Karmada's (cleanupPolicyClaimMetadata).
func disown(o Object) {
	u := in(o)
	labels, annotations := u.GetLabels(), u.GetAnnotations()
	for _, key := range []string{
		policyv1alpha1.PropagationPolicyPermanentIDLabel, policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel,
		workv1alpha2.ResourceBindingPermanentIDLabel, workv1alpha2.WorkPermanentIDLabel, managedLabel,
	} {
		delete(labels, key)
	}
	for _, key := range []string{
		policyv1alpha1.PropagationPolicyNamespaceAnnotation, policyv1alpha1.PropagationPolicyNameAnnotation, policyv1alpha1.ClusterPropagationPolicyAnnotation,
		workv1alpha2.ManagedAnnotation, workv1alpha2.ManagedLabels, workv1alpha2.ResourceBindingNamespaceAnnotationKey,
		workv1alpha2.ResourceBindingNameAnnotationKey, workv1alpha2.ResourceTemplateUIDAnnotation, workv1alpha2.ResourceTemplateGenerationAnnotationKey,
		workv1alpha2.WorkNameAnnotation, workv1alpha2.WorkNamespaceAnnotation,
	} {
		delete(annotations, key)
	}
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
}

func removeFinalizer(s *apiserver.Store, ref apiserver.Ref, finalizer string) error {
	_, err := s.Modify(ref, "", func(o Object) {
		u := in(o)
		u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == finalizer }))
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func deleteOptions(policy metav1.DeletionPropagation) metav1.DeleteOptions {
	if policy == "" {
		return metav1.DeleteOptions{}
	}
	return metav1.DeleteOptions{PropagationPolicy: &policy}
}

// objectKey names an object in a member.
type objectKey struct {
	schema.GroupVersionKind
	object, work apiserver.Ref // the Work that the object's annotations name
}

// keyOf finds how the member serves an object.
func (m *Member) keyOf(o Object) (objectKey, error) {
	u := in(o)
	gvk := u.GroupVersionKind()
	gr, has := m.kinds[gvk.GroupKind()]
	if !has {
		return objectKey{}, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	annotations := u.GetAnnotations()
	return objectKey{gvk, refOf(gr, o), apiserver.Ref{
		Resource: works(), Namespace: annotations[workv1alpha2.WorkNamespaceAnnotation], Name: annotations[workv1alpha2.WorkNameAnnotation],
	}}, nil
}

// apply creates or updates an object in the member.
func (m *Member) apply(desired Object) error {
	key, err := m.keyOf(desired)
	if err != nil {
		return err
	}
	if observed := m.Store.Get(key.object); observed != nil {
		return m.update(key, desired, observed)
	}
	return m.create(key, desired)
}

func (m *Member) create(key objectKey, desired Object) error {
	return m.reach(func() error {
		stored, err := m.Store.Create(key.object.Resource, desired)
		if err == nil {
			m.record(key, versionOf(stored))
		}
		return err
	})
}

// update changes an object to what a Work wants, unless it is another's (pkg/util/objectwatcher). It may change desired.
func (m *Member) update(key objectKey, desired, observed Object) error {
	mayOverwrite := in(desired).GetAnnotations()[workv1alpha2.ResourceConflictResolutionAnnotation] == workv1alpha2.ResourceConflictResolutionOverwrite
	if !isManaged(observed) && !mayOverwrite {
		return fmt.Errorf("resource(kind=%s, %s/%s) already exists in the cluster %v and the %s strategy value is empty, Karmada will not manage this resource",
			key.Kind, key.object.Namespace, key.object.Name, m.Name, workv1alpha2.ResourceConflictResolutionAnnotation)
	}
	retainMetadata(desired, observed)
	if err := retain(key.GroupVersionKind, desired, observed); err != nil {
		return err
	}
	same := copyOf(observed)
	if err := prune(same); err == nil {
		retainMetadata(same, observed)
		if equality.Semantic.DeepEqual(desired, same) {
			m.record(key, versionOf(observed))
			return nil
		}
	}
	return m.reach(func() error {
		stored, err := m.Store.Update(key.object.Resource, desired, "")
		if err == nil {
			m.record(key, versionOf(stored))
		}
		return err
	})
}

func isManaged(o Object) bool { return in(o).GetLabels()[managedLabel] == "true" }

// record remembers the version that Karmada has seen last, "" forgets it.
func (m *Member) record(key objectKey, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key.work = apiserver.Ref{}
	if version == "" {
		delete(m.versions, key)
		return
	}
	m.versions[key] = version
}

// needsUpdate reports whether an object is not as Karmada has seen it last: by its generation and labels, or, of kinds
// without a generation, by its resource version (pkg/util/lifted/objectwatcher.go).
func (m *Member) needsUpdate(key objectKey, desired, observed Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	key.work = apiserver.Ref{}
	version := versionOf(observed)
	return m.versions[key] != version || strings.HasPrefix(version, "gen:") && !equality.Semantic.DeepEqual(in(desired).GetLabels(), in(observed).GetLabels())
}

func versionOf(o Object) string {
	u := in(o)
	if generation := u.GetGeneration(); generation != 0 {
		return "gen:" + strconv.FormatInt(generation, 10)
	}
	return "rv:" + u.GetResourceVersion()
}
