package karmada

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	cluster, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: c.Name, Labels: c.Labels, Finalizers: []string{clusterFinalizer}},
		Spec:       clusterv1alpha1.ClusterSpec{ID: c.Name, SyncMode: c.Mode, APIEndpoint: "https://" + c.Name, Provider: c.Provider, Region: c.Region, Zones: c.Zones},
	})
	if err != nil {
		return m, err
	}
	if _, err := k.control.Create(clusters, cluster); err != nil {
		return m, err
	}
	m.restart()
	return m, k.SetReady(c.Name, true)
}

// Unjoin deletes a Cluster; its execution namespace goes first, and all Works in it.
func (k *Karmada) Unjoin(name string) error {
	return k.control.Delete(apiserver.Ref{Resource: clusters, Name: name}, metav1.DeleteOptions{})
}

// SetReady sets the condition Ready of a cluster. A member that is not ready cannot be reached.
func (k *Karmada) SetReady(name string, isReady bool) error {
	m := k.Member(name)
	if m == nil {
		return fmt.Errorf("cannot find cluster %q", name)
	}
	m.mu.Lock()
	m.isAway = !isReady
	m.mu.Unlock()
	return m.publish()
}

// publish is the cluster-status controller (pkg/controllers/status/cluster_status_controller.go): it says whether the
// member is ready, and what it serves.
func (m *Member) publish() error {
	m.mu.Lock()
	isAway, enabled := m.isAway, map[string][]any{}
	for kind, gr := range m.kinds {
		served, _ := m.Store.Served(gr)
		for _, version := range served.Versions {
			of := schema.GroupVersion{Group: kind.Group, Version: version}.String()
			enabled[of] = append(enabled[of], Object{"kind": kind.Kind, "name": gr.Resource})
		}
	}
	m.mu.Unlock()
	var enablements []any
	for _, of := range slices.Sorted(maps.Keys(enabled)) {
		slices.SortFunc(enabled[of], func(a, b any) int { return strings.Compare(stringAt(a.(Object), "name"), stringAt(b.(Object), "name")) })
		enablements = append(enablements, Object{"groupVersion": of, "resources": enabled[of]})
	}
	return setStatus(m.k.control, apiserver.Ref{Resource: clusters, Name: m.Name}, func(o Object) {
		if isAway {
			setCondition(o, clusterv1alpha1.ClusterConditionReady, string(metav1.ConditionFalse), "ClusterNotReachable", "cluster is not reachable")
			return
		}
		o["apiEnablements"] = enablements
		setCondition(o, clusterv1alpha1.ClusterConditionReady, string(metav1.ConditionTrue), "ClusterReady", "cluster is healthy and ready to accept workloads")
		setCondition(o, clusterv1alpha1.ClusterConditionCompleteAPIEnablements, string(metav1.ConditionTrue), "Complete", "collected complete APIEnablements from the cluster")
	})
}

// Restart restarts the controllers: they list everything, and forget what failed. It is needed after a store was restored.
func (k *Karmada) Restart() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range k.members {
		m.restart()
	}
	k.list()
}

// list has the controllers look at all Clusters and Namespaces.
func (k *Karmada) list() {
	for _, cluster := range k.control.List(clusters, "") {
		k.clusters.add(in(cluster).GetName())
	}
	for _, namespace := range k.control.List(namespaces, "") {
		k.namespaces.add(in(namespace).GetName())
	}
}

// syncCluster is the cluster controller (pkg/controllers/cluster/cluster_controller.go).
func (k *Karmada) syncCluster(name string) error {
	ref, space := apiserver.Ref{Resource: clusters, Name: name}, apiserver.Ref{Resource: namespaces, Name: executionPrefix + name}
	cluster, is := k.control.Get(ref), k.control.Get(space)
	switch {
	case cluster == nil || !isEnding(cluster) && is != nil:
		return nil
	case !isEnding(cluster):
		_, err := k.control.Create(namespaces, Object{"metadata": Object{"name": space.Name, "labels": Object{systemLabel: "true"}}})
		return err
	case is == nil:
		return removeFinalizer(k.control, ref, clusterFinalizer)
	}
	if stringAt(cluster, "spec", "syncMode") == string(Pull) && !isTrue(cluster, clusterv1alpha1.ClusterConditionReady) {
		for _, work := range k.control.List(works, space.Name) { // no one else does it
			if err := removeFinalizer(k.control, refOf(works, work), executionFinalizer); err != nil {
				return err
			}
		}
	}
	if isEnding(is) {
		return nil // its end wakes this controller
	}
	return ignoreNotFound(k.control.Delete(space, metav1.DeleteOptions{}))
}

// isSkipped reports whether Karmada leaves a Namespace alone (IsReservedNamespace, and --skipped-propagating-namespaces).
func isSkipped(namespace string) bool {
	return slices.Contains([]string{"default", "karmada-system", "karmada-cluster"}, namespace) ||
		strings.HasPrefix(namespace, executionPrefix) || strings.Contains(namespace, "kube-")
}

// syncNamespace is the namespace-sync controller (pkg/controllers/namespace), and the garbage collector for its Works.
func (k *Karmada) syncNamespace(name string) error {
	namespace := k.control.Get(apiserver.Ref{Resource: namespaces, Name: name})
	if isSkipped(name) || namespace != nil && (isEnding(namespace) || strings.ToLower(in(namespace).GetLabels()[policyv1alpha1.NamespaceSkipAutoPropagationLabel]) == "true") {
		return nil
	}
	var failures []error
	for _, cluster := range k.control.List(clusters, "") {
		work := newWork(in(cluster).GetName(), WorkName("Namespace", name, ""))
		if namespace != nil {
			in(work).SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(in(namespace), in(namespace).GroupVersionKind())})
			failures = append(failures, k.createOrUpdateWork(work, copyOf(namespace)))
		} else if ref := refOf(works, work); len(in(k.control.Get(ref)).GetOwnerReferences()) > 0 {
			failures = append(failures, ignoreNotFound(k.control.Delete(ref, metav1.DeleteOptions{})))
		}
	}
	return errors.Join(failures...)
}

// newWork is a Work without a manifest.
func newWork(cluster, name string) Object {
	return Object{"spec": Object{}, "metadata": Object{"namespace": executionPrefix + cluster, "name": name, "finalizers": []any{executionFinalizer}}}
}
