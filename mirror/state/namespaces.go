package state

import (
	"slices"
	"strings"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/karmada-target/karmada-mirror/render"
)

// NamespacesResource is the resource of Namespaces.
var NamespacesResource = corev1.SchemeGroupVersion.WithResource("namespaces")

// Namespace is what the cache keeps of a Namespace: its defaults for the objects in it.
type Namespace struct {
	Meta
	// Labels are what the configuration's rules match.
	Labels labels.Set
	// Wishes are the defaults.
	Wishes render.Wishes
	// Invalid is why Wishes cannot be parsed; empty if they can.
	Invalid string
}

// NewNamespace reduces a Namespace to what the cache keeps of it.
func NewNamespace(u *unstructured.Unstructured) *Namespace {
	n := &Namespace{Meta: keepMeta(u), Labels: u.GetLabels(), Wishes: render.ReadWishes(u.GetAnnotations())}
	if err := n.Wishes.CheckDefaults(); err != nil {
		n.Invalid = err.Error()
	}
	return n
}

// Asks reports whether the Namespace says where to mirror the objects in it.
func (n *Namespace) Asks() bool { return n.Wishes.Ask() && !n.Wishes.OptOut() }

// ClusterNames returns the clusters that its defaults name, sorted; none if they cannot be parsed.
func (n *Namespace) ClusterNames() []string {
	if n.Invalid != "" {
		return nil
	}
	names := n.Wishes.OtherNames()
	if n.Asks() {
		terms, _ := n.Wishes.Terms()
		names = append(names, terms.Names()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// IsProtected reports whether Karmada refuses to delete the Namespace
// (pkg/webhook/resourcedeletionprotection, v1.18.2).
func (n *Namespace) IsProtected() bool {
	return n.Labels[workv1alpha2.DeletionProtectionLabelKey] == workv1alpha2.DeletionProtectionAlways
}

// SkipsPropagation reports whether Karmada does not create the Namespace in the members
// (pkg/controllers/namespace, v1.18.2).
func (n *Namespace) SkipsPropagation() bool {
	return strings.ToLower(n.Labels[policyv1alpha1.NamespaceSkipAutoPropagationLabel]) == "true"
}
