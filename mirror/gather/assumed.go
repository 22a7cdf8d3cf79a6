package gather

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// Assume makes an object replace the one on the API server, as if it had been applied.
func (r *Reader) Assume(obj *unstructured.Unstructured) {
	id := IdentityOf(obj)
	r.assumed[id] = obj
	delete(r.namespaces, id.Name)
	delete(r.autoscalers, id.Namespace)
	delete(r.policies, id.Namespace)
}

// withAssumed returns the objects of a list, and those of its kind and namespace that are assumed, which replace
// them.
func (r *Reader) withAssumed(list *unstructured.UnstructuredList, kind schema.GroupKind, namespace string) (all []*unstructured.Unstructured) {
	for i := range list.Items {
		if r.assumed[IdentityOf(&list.Items[i])] == nil {
			all = append(all, &list.Items[i])
		}
	}
	for id, obj := range r.assumed {
		if id.GroupKind() == kind && id.Namespace == namespace {
			all = append(all, obj.DeepCopy())
		}
	}
	return all
}

// assumeClusters assumes that every cluster a source names exists, if the user may not list clusters.
func (r *Reader) assumeClusters(s *judge.Source) {
	if s == nil || !r.HidesClusters() {
		return
	}
	for _, name := range append(s.Terms.Names(), s.Wishes.OtherNames()...) {
		if r.clusters[name] == nil {
			r.clusters[name] = &state.Cluster{Meta: state.Meta{Name: name}}
		}
	}
}
