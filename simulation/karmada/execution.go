package karmada

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/ptr"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// The controllers as Events name them, and their reasons.
const (
	executionController = "execution-controller"
	statusController    = "work-status-controller"
	syncSucceed         = "SyncSucceed"
	syncFailed          = "SyncFailed"
)

// reconcile is the execution controller (pkg/controllers/execution/execution_controller.go).
func (m *Member) reconcile(ref apiserver.Ref) error {
	work, cluster := m.k.control.Get(ref), m.k.control.Get(apiserver.Ref{Resource: clusters, Name: m.Name})
	switch {
	case work == nil:
		return nil
	case cluster == nil:
		return fmt.Errorf("clusters.cluster.karmada.io %q not found", m.Name)
	}
	isReady := isTrue(cluster, clusterv1alpha1.ClusterConditionReady)
	notReady := fmt.Errorf("cluster(%s) not ready", m.Name)
	if isEnding(work) {
		isPreserved := boolAt(work, "spec", "preserveResourcesOnDeletion")
		switch {
		case isPreserved || isReady:
			if err := m.end(work, isPreserved); err != nil {
				return err
			}
		case !isEnding(cluster):
			return notReady
		}
		return removeFinalizer(m.k.control, ref, executionFinalizer)
	}
	isSuspended := boolAt(work, "spec", "suspendDispatching")
	if err := m.dispatching(ref, work, isSuspended); err != nil || isSuspended {
		return err
	}
	if !isReady {
		return notReady
	}
	return m.sync(ref, work)
}

// dispatching sets the condition of this name if its status is another.
func (m *Member) dispatching(ref apiserver.Ref, work Object, isSuspended bool) error {
	status, reason, message := metav1.ConditionTrue, "Dispatching", "Work is being dispatched to member clusters."
	if isSuspended {
		status, reason, message = metav1.ConditionFalse, "SuspendDispatching", "Work dispatching is in a suspended state."
	}
	if conditionOf(work, workv1alpha1.WorkDispatching) == string(status) {
		return nil
	}
	err := setStatus(m.k.control, ref, func(o Object) { setCondition(o, workv1alpha1.WorkDispatching, string(status), reason, message) })
	if err == nil {
		m.k.recorder.event(executionController, work, "", false, "WorkDispatching", message)
	}
	return err
}

// sync applies the manifests of a Work and says so.
func (m *Member) sync(ref apiserver.Ref, work Object) error {
	var failures []error
	all := manifests(work)
	for _, manifest := range all {
		err := m.apply(copyOf(manifest))
		if meta.IsNoMatchError(err) && m.k.options.Version == V119 {
			return err // before a condition is written
		}
		if err != nil {
			failures = append(failures, err)
		}
		m.tell(executionController, manifest, err)
	}
	failure := error(utilerrors.NewAggregate(failures))
	if len(failures) == 0 {
		failure = m.applied(ref, metav1.ConditionTrue, "AppliedSuccessful", "Manifest has been successfully applied")
	} else if err := m.applied(ref, metav1.ConditionFalse, "AppliedFailed", fmt.Sprintf("Failed to apply all manifests (%d/%d): %s", len(all)-len(failures), len(all), failure)); err != nil {
		failure = err
	}
	reason, message := syncSucceed, fmt.Sprintf("Sync work(%s/%s) to cluster(%s) successful.", ref.Namespace, ref.Name, m.Name)
	if failure != nil {
		reason, message = syncFailed, fmt.Sprintf("Failed to sync work(%s/%s) to cluster(%s), err: %v", ref.Namespace, ref.Name, m.Name, failure)
	}
	m.k.recorder.event(executionController, work, "", failure != nil, reason, message)
	return failure
}

// tell writes an Event about the source of a manifest, which is known by its UID (GenEventRef, pkg/util/work.go).
func (m *Member) tell(component string, manifest Object, err error) {
	u := in(manifest)
	uid := u.GetAnnotations()[workv1alpha2.ResourceTemplateUIDAnnotation]
	reason, message := syncSucceed, fmt.Sprintf("Successfully applied resource(%s/%s) to cluster %s", u.GetNamespace(), u.GetName(), m.Name)
	if err != nil {
		reason, message = syncFailed, fmt.Sprintf("Failed to create or update resource(%s/%s) in member cluster(%s): %v", u.GetNamespace(), u.GetName(), m.Name, err)
	}
	if uid != "" {
		m.k.recorder.event(component, manifest, uid, err != nil, reason, message)
	}
}

// applied sets the condition of this name.
func (m *Member) applied(ref apiserver.Ref, status metav1.ConditionStatus, reason, message string) error {
	return setStatus(m.k.control, ref, func(o Object) { setCondition(o, workv1alpha1.WorkApplied, string(status), reason, message) })
}

// end removes the objects of a Work that is deleted from the member, or what makes them Karmada's.
func (m *Member) end(work Object, isPreserved bool) error {
	for _, manifest := range manifests(work) {
		key, err := m.keyOf(manifest)
		if err != nil {
			return err
		}
		observed := m.Store.Get(key.object)
		switch {
		case isPreserved && observed == nil:
			return apierrors.NewNotFound(key.object.Resource, key.object.Name)
		case isPreserved:
			desired := copyOf(manifest)
			without(desired, ownLabels, ownAnnotations)
			err = m.update(key, desired, observed)
		case observed != nil && isManaged(observed):
			err = ignoreNotFound(m.write(key, func() (Object, error) {
				return nil, m.Store.Delete(key.object, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)})
			}))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// What makes an object Karmada's (cleanupPolicyClaimMetadata).
var (
	ownLabels = []string{
		policyv1alpha1.PropagationPolicyPermanentIDLabel, policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel,
		workv1alpha2.ResourceBindingPermanentIDLabel, workv1alpha2.WorkPermanentIDLabel, managedLabel,
	}
	ownAnnotations = []string{
		policyv1alpha1.PropagationPolicyNamespaceAnnotation, policyv1alpha1.PropagationPolicyNameAnnotation, policyv1alpha1.ClusterPropagationPolicyAnnotation,
		workv1alpha2.ManagedAnnotation, workv1alpha2.ManagedLabels, workv1alpha2.ResourceBindingNamespaceAnnotationKey,
		workv1alpha2.ResourceBindingNameAnnotationKey, workv1alpha2.ResourceTemplateUIDAnnotation, workv1alpha2.ResourceTemplateGenerationAnnotationKey,
		workv1alpha2.WorkNameAnnotation, workv1alpha2.WorkNamespaceAnnotation,
	}
)

// objectKey names an object in a member, and the Work that its annotations name.
type objectKey struct {
	schema.GroupVersionKind
	object, work apiserver.Ref
}

// keyOf finds how the member serves an object.
func (m *Member) keyOf(o Object) (objectKey, error) {
	gvk, annotations := in(o).GroupVersionKind(), in(o).GetAnnotations()
	gr, has := m.resourceOf(gvk.GroupKind())
	if !has {
		return objectKey{}, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	return objectKey{gvk, refOf(gr, o), apiserver.Ref{
		Resource: works, Namespace: annotations[workv1alpha2.WorkNamespaceAnnotation], Name: annotations[workv1alpha2.WorkNameAnnotation],
	}}, nil
}

// apply creates or updates an object in the member. It may change what it is given.
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
	return m.write(key, func() (Object, error) { return m.Store.Create(key.object.Resource, desired) })
}

// update changes an object to what a Work wants, unless it is another's (pkg/util/objectwatcher/objectwatcher.go).
func (m *Member) update(key objectKey, desired, observed Object) error {
	resolution := in(desired).GetAnnotations()[workv1alpha2.ResourceConflictResolutionAnnotation]
	if !isManaged(observed) && resolution != workv1alpha2.ResourceConflictResolutionOverwrite {
		return fmt.Errorf("resource(kind=%s, %s/%s) already exists in the cluster %v and the %s strategy value is empty, Karmada will not manage this resource",
			key.Kind, key.object.Namespace, key.object.Name, m.Name, workv1alpha2.ResourceConflictResolutionAnnotation)
	}
	retainMetadata(desired, observed)
	if err := Retain(desired, observed); err != nil {
		return err
	}
	same := copyOf(observed)
	if err := prune(same); err == nil {
		if retainMetadata(same, observed); equality.Semantic.DeepEqual(desired, same) {
			m.remember(key, observed)
			return nil
		}
	}
	if observed["immutable"] == true && (desired["immutable"] != true || !equality.Semantic.DeepEqual(desired["data"], observed["data"])) {
		return fmt.Errorf("%s %q is invalid: data: Forbidden: field is immutable when `immutable` is set", key.Kind, key.object.Name)
	}
	return m.write(key, func() (Object, error) { return m.Store.Update(key.object.Resource, desired, "") })
}

func isManaged(o Object) bool { return in(o).GetLabels()[managedLabel] == "true" }

// write writes to the member, if it answers.
func (m *Member) write(key objectKey, write func() (Object, error)) error {
	m.mu.Lock()
	isGone := m.isSick || m.isAway
	m.mu.Unlock()
	if isGone {
		return errors.New("dial tcp: connect: connection refused")
	}
	stored, err := write()
	if err == nil {
		m.remember(key, stored)
	}
	return err
}

// remember keeps the version of an object that Karmada has seen last; nil is one that is deleted.
func (m *Member) remember(key objectKey, o Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o == nil {
		delete(m.versions, key.object)
		return
	}
	m.versions[key.object] = versionOf(o)
}

// needsUpdate reports whether an object is not as Karmada has seen it last: by its generation and labels, or, of kinds
// without a generation, by its resource version (pkg/util/lifted/objectwatcher.go).
func (m *Member) needsUpdate(key objectKey, desired, observed Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	version := versionOf(observed)
	return m.versions[key.object] != version || strings.HasPrefix(version, "gen:") && !equality.Semantic.DeepEqual(in(desired).GetLabels(), in(observed).GetLabels())
}

func versionOf(o Object) string {
	if generation := in(o).GetGeneration(); generation != 0 {
		return "gen:" + strconv.FormatInt(generation, 10)
	}
	return "rv:" + in(o).GetResourceVersion()
}
