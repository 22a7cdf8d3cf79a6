package karmada

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// claim is a policy's hold on a source.
type claim struct {
	binding  apiserver.Ref
	clusters []string
}

// scope is what differs between sources in namespaces and others.
type scope struct {
	bindings           schema.GroupResource
	kind               string
	policyLabel        string
	policyAnnotations  map[string]string
	bindingLabel       string
	bindingAnnotations map[string]string
}

func scopeOf(source apiserver.Ref, binding string) scope {
	if source.Namespace == "" {
		return scope{
			schema.GroupResource{Group: workv1alpha2.GroupName, Resource: workv1alpha2.ResourcePluralClusterResourceBinding}, workv1alpha2.ResourceKindClusterResourceBinding,
			policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel, map[string]string{policyv1alpha1.ClusterPropagationPolicyAnnotation: "policy"},
			workv1alpha2.ClusterResourceBindingPermanentIDLabel, map[string]string{workv1alpha2.ClusterResourceBindingAnnotationKey: binding},
		}
	}
	return scope{
		schema.GroupResource{Group: workv1alpha2.GroupName, Resource: workv1alpha2.ResourcePluralResourceBinding}, workv1alpha2.ResourceKindResourceBinding,
		policyv1alpha1.PropagationPolicyPermanentIDLabel,
		map[string]string{policyv1alpha1.PropagationPolicyNamespaceAnnotation: source.Namespace, policyv1alpha1.PropagationPolicyNameAnnotation: "policy"},
		workv1alpha2.ResourceBindingPermanentIDLabel,
		map[string]string{workv1alpha2.ResourceBindingNamespaceAnnotationKey: source.Namespace, workv1alpha2.ResourceBindingNameAnnotationKey: binding},
	}
}

// Claim lets a policy select a source for clusters, all that have joined if none are named: the source gets the policy's
// label, and a binding takes over the Works that have the names of its own.
func (k *Karmada) Claim(source apiserver.Ref, clusterNames ...string) error {
	o := k.control.Get(source)
	if o == nil {
		return apierrors.NewNotFound(source.Resource, source.Name)
	}
	u := in(o)
	if len(clusterNames) == 0 {
		for _, cluster := range k.control.List(clusters(), "") {
			clusterNames = append(clusterNames, in(cluster).GetName())
		}
	}
	name := strings.ToLower(strings.ReplaceAll(u.GetName(), ":", ".") + "-" + u.GetKind())
	s := scopeOf(source, name)
	ref := apiserver.Ref{Resource: s.bindings, Namespace: source.Namespace, Name: name}
	if _, err := k.control.Modify(source, "", func(o Object) {
		if in(o).GetLabels()[s.policyLabel] == "" {
			merge(in(o), "labels", map[string]string{s.policyLabel: string(uuid.NewUUID())})
		}
		merge(in(o), "annotations", s.policyAnnotations)
	}); err != nil {
		return err
	}
	k.mu.Lock()
	k.claims[source] = claim{ref, clusterNames}
	k.mu.Unlock()
	targets := make([]any, len(clusterNames))
	for i, cluster := range clusterNames {
		targets[i] = Object{"name": cluster}
	}
	spec := Object{
		"resource": Object{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "namespace": u.GetNamespace(), "name": u.GetName(), "uid": string(u.GetUID())},
		"clusters": targets,
	}
	if k.control.Get(ref) != nil {
		_, err := k.control.Modify(ref, "", func(o Object) { o["spec"] = spec })
		return err
	}
	binding := Object{
		"apiVersion": workv1alpha2.GroupVersion.String(), "kind": s.kind, "spec": spec,
		"metadata": Object{
			"namespace": source.Namespace, "name": name, "labels": Object{s.bindingLabel: string(uuid.NewUUID())}, "finalizers": []any{bindingFinalizer},
		},
	}
	in(binding).SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(u, u.GroupVersionKind())})
	if source.Namespace == "" {
		delete(objectAt(binding, "metadata"), "namespace")
	}
	_, err := k.control.Create(s.bindings, binding)
	return err
}

// Release takes the policy's label off a source, and deletes the binding and so its Works.
func (k *Karmada) Release(source apiserver.Ref) error {
	k.mu.Lock()
	c, is := k.claims[source]
	k.mu.Unlock()
	if !is {
		return nil
	}
	s := scopeOf(source, c.binding.Name)
	_, err := k.control.Modify(source, "", func(o Object) {
		u := in(o)
		labels, annotations := u.GetLabels(), u.GetAnnotations()
		delete(labels, s.policyLabel)
		for key := range s.policyAnnotations {
			delete(annotations, key)
		}
		u.SetLabels(labels)
		u.SetAnnotations(annotations)
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err := k.control.Delete(c.binding, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// seeSource wakes the binding controller for a source that is claimed, or for its binding.
func (k *Karmada) seeSource(ref apiserver.Ref) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, is := k.claims[ref]; is {
		k.bindings.add(ref)
	}
	if ref.Resource.Group != workv1alpha2.GroupName {
		return
	}
	for source, c := range k.claims {
		if c.binding == ref {
			k.bindings.add(source)
		}
	}
}

// syncBinding is the binding controllers (pkg/controllers/binding) without replicas and overrides.
func (k *Karmada) syncBinding(source apiserver.Ref) error {
	k.mu.Lock()
	c := k.claims[source]
	k.mu.Unlock()
	s := scopeOf(source, c.binding.Name)
	binding := k.control.Get(c.binding)
	if binding == nil {
		k.mu.Lock()
		if k.claims[source].binding == c.binding && k.control.Get(c.binding) == nil {
			delete(k.claims, source)
		}
		k.mu.Unlock()
		return nil
	}
	id := in(binding).GetLabels()[s.bindingLabel]
	isEnding := in(binding).GetDeletionTimestamp() != nil
	var failures []error
	for _, work := range k.control.List(works(), "") {
		u := in(work)
		cluster := strings.TrimPrefix(u.GetNamespace(), executionPrefix)
		if u.GetLabels()[s.bindingLabel] != id || !isEnding && slices.Contains(c.clusters, cluster) {
			continue
		}
		if err := k.control.Delete(refOf(works(), work), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			failures = append(failures, err)
		}
	}
	if err := errors.Join(failures...); err != nil || isEnding {
		if err == nil {
			err = removeFinalizer(k.control, c.binding, bindingFinalizer)
		}
		return err
	}
	o := k.control.Get(source)
	if owner := metav1.GetControllerOf(in(binding)); o == nil || owner == nil || owner.UID != in(o).GetUID() { // the garbage collector
		return k.control.Delete(c.binding, metav1.DeleteOptions{})
	}
	for _, cluster := range c.clusters {
		resource := copyOf(o)
		u := in(resource)
		annotations := maps.Clone(s.bindingAnnotations)
		if u.GetGeneration() > 0 {
			annotations[workv1alpha2.ResourceTemplateGenerationAnnotationKey] = strconv.FormatInt(u.GetGeneration(), 10)
		}
		merge(u, "annotations", annotations)
		merge(u, "labels", map[string]string{s.bindingLabel: id})
		work := newWork(cluster, workName(u.GetKind(), u.GetName(), u.GetNamespace()))
		work["spec"] = Object{"suspendDispatching": false, "preserveResourcesOnDeletion": false}
		w := in(work)
		w.SetLabels(map[string]string{s.bindingLabel: id})
		merge(w, "annotations", s.bindingAnnotations)
		resolution := u.GetAnnotations()[workv1alpha2.ResourceConflictResolutionAnnotation]
		if resolution != workv1alpha2.ResourceConflictResolutionOverwrite {
			resolution = workv1alpha2.ResourceConflictResolutionAbort
		}
		merge(w, "annotations", map[string]string{workv1alpha2.ResourceConflictResolutionAnnotation: resolution})
		failures = append(failures, k.createOrUpdateWork(work, resource))
	}
	return errors.Join(failures...)
}
