package karmada

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// claim is a policy's hold on a source: what it sets on the source, and what its binding sets on Works and manifests.
type claim struct {
	binding                               apiserver.Ref
	policy                                apiserver.Ref // no name for one that is not an object
	clusters                              []string
	policyLabel, bindingLabel             string
	policyAnnotations, bindingAnnotations map[string]string
}

func newClaim(source apiserver.Ref, kind string, clusters []string) claim {
	name := strings.ToLower(strings.ReplaceAll(source.Name, ":", ".") + "-" + kind)
	binding := apiserver.Ref{Resource: schema.GroupResource{Group: workv1alpha2.GroupName}, Namespace: source.Namespace, Name: name}
	if source.Namespace == "" {
		binding.Resource.Resource = workv1alpha2.ResourcePluralClusterResourceBinding
		return claim{
			binding, apiserver.Ref{}, clusters, policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel, workv1alpha2.ClusterResourceBindingPermanentIDLabel,
			map[string]string{policyv1alpha1.ClusterPropagationPolicyAnnotation: "policy"}, map[string]string{workv1alpha2.ClusterResourceBindingAnnotationKey: name},
		}
	}
	binding.Resource.Resource = workv1alpha2.ResourcePluralResourceBinding
	return claim{
		binding, apiserver.Ref{}, clusters, policyv1alpha1.PropagationPolicyPermanentIDLabel, workv1alpha2.ResourceBindingPermanentIDLabel,
		map[string]string{policyv1alpha1.PropagationPolicyNamespaceAnnotation: source.Namespace, policyv1alpha1.PropagationPolicyNameAnnotation: "policy"},
		map[string]string{workv1alpha2.ResourceBindingNamespaceAnnotationKey: source.Namespace, workv1alpha2.ResourceBindingNameAnnotationKey: name},
	}
}

// Claim lets a policy select a source for clusters, all that have joined if none are named: the source gets the policy's
// label, and a binding takes over the Works that have the names of its own.
func (k *Karmada) Claim(source apiserver.Ref, names ...string) error {
	if len(names) == 0 {
		for _, cluster := range k.control.List(clusters, "") {
			names = append(names, in(cluster).GetName())
		}
	}
	o := k.control.Get(source)
	c := newClaim(source, in(o).GetKind(), names)
	if _, err := k.control.Modify(source, "", func(o Object) {
		if in(o).GetLabels()[c.policyLabel] == "" {
			merge(o, "labels", map[string]string{c.policyLabel: string(uuid.NewUUID())})
		}
		merge(o, "annotations", c.policyAnnotations)
	}); err != nil {
		return err
	}
	k.mu.Lock()
	k.claims[source] = c
	k.mu.Unlock()
	targets := make([]any, len(names))
	for i, name := range names {
		targets[i] = Object{"name": name}
	}
	u := in(o)
	spec := Object{"clusters": targets, "resource": Object{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "namespace": u.GetNamespace(), "name": u.GetName(), "uid": string(u.GetUID())}}
	if k.control.Get(c.binding) != nil {
		_, err := k.control.Modify(c.binding, "", func(o Object) { o["spec"] = spec })
		return err
	}
	binding := Object{"spec": spec, "metadata": Object{"name": c.binding.Name, "labels": Object{c.bindingLabel: string(uuid.NewUUID())}, "finalizers": []any{bindingFinalizer}}}
	in(binding).SetNamespace(source.Namespace)
	in(binding).SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(u, u.GroupVersionKind())})
	_, err := k.control.Create(c.binding.Resource, binding)
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
	_, err := k.control.Modify(source, "", func(o Object) { without(o, []string{c.policyLabel}, slices.Collect(maps.Keys(c.policyAnnotations))) })
	return errors.Join(ignoreNotFound(err), ignoreNotFound(k.control.Delete(c.binding, metav1.DeleteOptions{})))
}

// seeSource wakes the binding controller for a source that is claimed, or for its binding.
func (k *Karmada) seeSource(ref apiserver.Ref) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for source, c := range k.claims {
		if source == ref || c.binding == ref || c.policy == ref {
			k.bindings.add(source)
		}
	}
}

// syncBinding is the binding controllers (pkg/controllers/binding) without replicas and overrides.
func (k *Karmada) syncBinding(source apiserver.Ref) error {
	k.mu.Lock()
	c := k.claims[source]
	k.mu.Unlock()
	if err := k.follow(source, c); err != nil {
		return err
	}
	k.mu.Lock()
	binding := k.control.Get(c.binding)
	if binding == nil {
		delete(k.claims, source)
	}
	k.mu.Unlock()
	if binding == nil {
		return nil
	}
	id := in(binding).GetLabels()[c.bindingLabel]
	for _, work := range k.control.List(works, "") {
		isWanted := !isEnding(binding) && slices.Contains(c.clusters, strings.TrimPrefix(in(work).GetNamespace(), executionPrefix))
		if in(work).GetLabels()[c.bindingLabel] != id || isWanted {
			continue
		}
		if err := k.control.Delete(refOf(works, work), metav1.DeleteOptions{}); ignoreNotFound(err) != nil {
			return err
		}
	}
	if isEnding(binding) {
		return removeFinalizer(k.control, c.binding, bindingFinalizer)
	}
	o := k.control.Get(source)
	if owner := metav1.GetControllerOf(in(binding)); o == nil || owner == nil || owner.UID != in(o).GetUID() { // the garbage collector
		return ignoreNotFound(k.control.Delete(c.binding, metav1.DeleteOptions{}))
	}
	var failures []error
	for _, cluster := range c.clusters {
		failures = append(failures, k.createOrUpdateWork(c.work(cluster, id, in(o).GetKind(), source, binding), c.manifest(o, id)))
	}
	return errors.Join(failures...)
}

// manifest is what a binding makes of its source.
func (c claim) manifest(o Object, id string) Object {
	manifest := copyOf(o)
	merge(manifest, "labels", map[string]string{c.bindingLabel: id})
	merge(manifest, "annotations", c.bindingAnnotations)
	if generation := in(o).GetGeneration(); generation > 0 {
		merge(manifest, "annotations", map[string]string{workv1alpha2.ResourceTemplateGenerationAnnotationKey: strconv.FormatInt(generation, 10)})
	}
	return manifest
}

// work is the Work of a binding, without the manifest.
func (c claim) work(cluster, id, kind string, source apiserver.Ref, binding Object) Object {
	work := newWork(cluster, WorkName(kind, source.Name, source.Namespace))
	work["spec"] = Object{"suspendDispatching": false, "preserveResourcesOnDeletion": objectAt(binding, "spec")["preserveResourcesOnDeletion"] == true}
	merge(work, "labels", map[string]string{c.bindingLabel: id})
	merge(work, "annotations", c.bindingAnnotations)
	merge(work, "annotations", map[string]string{workv1alpha2.ResourceConflictResolutionAnnotation: workv1alpha2.ResourceConflictResolutionAbort})
	return work
}
