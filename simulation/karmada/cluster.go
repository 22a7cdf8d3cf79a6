package karmada

import (
	"slices"
	"strings"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// Push and Pull are the modes of clusters: Karmada applies Works itself, or an agent in the cluster does.
const (
	Push = clusterv1alpha1.Push
	Pull = clusterv1alpha1.Pull
)

// Cluster describes a cluster that joins.
type Cluster struct {
	Name             string
	Labels           map[string]string
	Provider, Region string
	Zones            []string
	Mode             clusterv1alpha1.ClusterSyncMode // Push if empty
	// Resources are what the member serves besides apiserver.Builtin.
	Resources []apiserver.Resource
}

// Join registers a cluster, and makes it ready. The member of one that has left is found again as it was.
func (k *Karmada) Join(c Cluster) (*Member, error) {
	if c.Mode == "" {
		c.Mode = Push
	}
	k.mu.Lock()
	m := k.members[c.Name]
	if m == nil {
		m = k.newMember(c)
		k.members[c.Name] = m
	}
	k.mu.Unlock()
	spec := Object{"syncMode": string(c.Mode), "apiEndpoint": "https://" + c.Name, "id": c.Name}
	for field, value := range map[string]string{"provider": c.Provider, "region": c.Region} {
		if value != "" {
			spec[field] = value
		}
	}
	if len(c.Zones) > 0 {
		zones := make([]any, len(c.Zones))
		for i, zone := range c.Zones {
			zones[i] = zone
		}
		spec["zones"], spec["zone"] = zones, c.Zones[0]
	}
	cluster := Object{
		"apiVersion": clusterv1alpha1.GroupVersion.String(), "kind": clusterv1alpha1.ResourceKindCluster,
		"metadata": Object{"name": c.Name, "finalizers": []any{clusterFinalizer}}, "spec": spec,
	}
	in(cluster).SetLabels(c.Labels)
	if _, err := k.control.Create(clusters(), cluster); err != nil {
		return m, err
	}
	m.restart()
	return m, k.SetReady(c.Name, true)
}

// Unjoin deletes a Cluster; its execution namespace goes first, and all Works in it.
func (k *Karmada) Unjoin(name string) error {
	return k.control.Delete(apiserver.Ref{Resource: clusters(), Name: name}, metav1.DeleteOptions{})
}

// SetReady sets the condition Ready of a cluster. A member that is not ready cannot be reached.
func (k *Karmada) SetReady(name string, isReady bool) error {
	status, reason, message := metav1.ConditionTrue, "ClusterReady", "cluster is healthy and ready to accept workloads"
	if !isReady {
		status, reason, message = metav1.ConditionFalse, "ClusterNotReachable", "cluster is not reachable"
	}
	if m := k.Member(name); m != nil {
		m.mu.Lock()
		m.isAway = !isReady
		m.mu.Unlock()
	}
	return setStatus(k.control, apiserver.Ref{Resource: clusters(), Name: name}, func(o Object) {
		setCondition(o, clusterv1alpha1.ClusterConditionReady, string(status), reason, message)
	})
}

// Restart restarts the controllers of the control plane: they list everything, and forget what failed.
func (k *Karmada) Restart() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range k.members {
		m.restart()
	}
	for _, cluster := range k.control.List(clusters(), "") {
		k.clusters.add(in(cluster).GetName())
	}
	for _, namespace := range k.control.List(namespaces(), "") {
		k.namespaces.add(in(namespace).GetName())
	}
}

// syncCluster is the cluster controller (pkg/controllers/cluster/cluster_controller.go).
func (k *Karmada) syncCluster(name string) error {
	ref := apiserver.Ref{Resource: clusters(), Name: name}
	cluster := k.control.Get(ref)
	if cluster == nil {
		return nil
	}
	space := apiserver.Ref{Resource: namespaces(), Name: executionPrefix + name}
	is := k.control.Get(space)
	if in(cluster).GetDeletionTimestamp() == nil {
		if is != nil {
			return nil
		}
		_, err := k.control.Create(namespaces(), Object{
			"apiVersion": "v1", "kind": "Namespace", "metadata": Object{"name": space.Name, "labels": Object{systemLabel: "true"}},
		})
		return err
	}
	if stringAt(cluster, "spec", "syncMode") == string(Pull) && !isTrue(cluster, clusterv1alpha1.ClusterConditionReady) {
		for _, work := range k.control.List(works(), space.Name) { // nobody else does it
			if err := removeFinalizer(k.control, refOf(works(), work), executionFinalizer); err != nil {
				return err
			}
		}
	}
	if is == nil {
		return removeFinalizer(k.control, ref, clusterFinalizer)
	}
	if err := k.control.Delete(space, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return err
	}
	return nil // the end of the namespace wakes this controller
}

// isSkipped reports whether Karmada leaves a Namespace alone (IsReservedNamespace, and --skipped-propagating-namespaces).
func isSkipped(namespace string) bool {
	return slices.Contains([]string{"default", "karmada-system", "karmada-cluster"}, namespace) ||
		strings.HasPrefix(namespace, executionPrefix) || strings.Contains(namespace, "kube-")
}

// syncNamespace is the namespace-sync controller (pkg/controllers/namespace): it writes a Work for each cluster.
func (k *Karmada) syncNamespace(name string) error {
	namespace := k.control.Get(apiserver.Ref{Resource: namespaces(), Name: name})
	if isSkipped(name) || in(namespace).GetDeletionTimestamp() != nil {
		return nil
	}
	if namespace == nil {
		return k.collect(name)
	}
	if strings.ToLower(in(namespace).GetLabels()[policyv1alpha1.NamespaceSkipAutoPropagationLabel]) == "true" {
		return nil
	}
	var failure error
	for _, cluster := range k.control.List(clusters(), "") {
		work := newWork(in(cluster).GetName(), workName("Namespace", name, ""))
		in(work).SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(in(namespace), in(namespace).GroupVersionKind())})
		if err := k.createOrUpdateWork(work, copyOf(namespace)); err != nil {
			failure = err
		}
	}
	return failure
}

// collect is the garbage collector, for the Works of a Namespace that is gone.
func (k *Karmada) collect(name string) error {
	for _, cluster := range k.control.List(clusters(), "") {
		ref := apiserver.Ref{Resource: works(), Namespace: executionPrefix + in(cluster).GetName(), Name: workName("Namespace", name, "")}
		if work := k.control.Get(ref); work == nil || metav1.GetControllerOf(in(work)) == nil {
			continue
		}
		if err := k.control.Delete(ref, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// newWork is a Work without a manifest.
func newWork(cluster, name string) Object {
	return Object{
		"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "spec": Object{},
		"metadata": Object{"namespace": executionPrefix + cluster, "name": name, "finalizers": []any{executionFinalizer}},
	}
}
