package state

import (
	"strings"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/karmada-target/karmada-mirror/render"
)

// NamespacesResource is where Namespaces are.
var NamespacesResource = corev1.SchemeGroupVersion.WithResource("namespaces")

// Namespace is what the cache keeps of a Namespace: the defaults that it has for the
// objects in it.
type Namespace struct {
	Meta
	// Labels are what the configuration's rules look at.
	Labels labels.Set
	// Wishes are the defaults.
	Wishes render.Wishes
	// Invalid is what cannot be parsed of Wishes; empty if all can.
	Invalid string
}

// NewNamespace reduces a Namespace to what is kept of it.
func NewNamespace(u *unstructured.Unstructured) *Namespace {
	n := &Namespace{Meta: keepMeta(u), Labels: u.GetLabels(), Wishes: render.ReadWishes(u.GetAnnotations())}
	if err := n.Wishes.Check(); err != nil {
		n.Invalid = err.Error()
	}
	return n
}

// Asks reports whether the Namespace says where to mirror what is in it.
func (n *Namespace) Asks() bool { return n.Wishes.Ask() && !n.Wishes.OptOut() }

// ClusterNames are those of the clusters that its defaults name; none if they cannot be parsed.
func (n *Namespace) ClusterNames() []string {
	if !n.Asks() || n.Invalid != "" {
		return nil
	}
	terms, _ := n.Wishes.Terms()
	return terms.Names()
}

// IsProtected reports whether Karmada refuses to delete the Namespace
// (pkg/webhook/resourcedeletionprotection, v1.18.2).
func (n *Namespace) IsProtected() bool {
	return n.Labels[workv1alpha2.DeletionProtectionLabelKey] == workv1alpha2.DeletionProtectionAlways
}

// SkipsPropagation reports whether Karmada does not make the Namespace in the members
// (pkg/controllers/namespace, v1.18.2).
func (n *Namespace) SkipsPropagation() bool {
	return strings.ToLower(n.Labels[policyv1alpha1.NamespaceSkipAutoPropagationLabel]) == "true"
}
