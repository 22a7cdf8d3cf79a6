package render

import (
	"maps"
	"slices"
	"strings"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claimKeys mark a source that a policy propagates.
var claimKeys = []string{
	policyv1alpha1.PropagationPolicyPermanentIDLabel,
	policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel,
	claimedByLabel,
}

// ClaimKeys returns the keys of the labels and annotations by which policies claim a source.
func ClaimKeys() []string { return slices.Clone(claimKeys) }

// ClaimedBy names the policy that claims a source, or the key by which one does. The key's value
// may be empty: Karmada claims with an empty ID while its webhook is down.
func ClaimedBy(labels, annotations map[string]string) (by string, claimed bool) {
	for _, key := range claimKeys {
		_, labelled := labels[key]
		_, annotated := annotations[key]
		if labelled || annotated {
			return claimant(key, annotations), true
		}
	}
	return "", false
}

// claimant names a policy as Karmada records it on what it propagates.
func claimant(key string, annotations map[string]string) string {
	name, clusterWide := annotations[policyv1alpha1.PropagationPolicyNameAnnotation], annotations[policyv1alpha1.ClusterPropagationPolicyAnnotation]
	switch {
	case key == policyv1alpha1.PropagationPolicyPermanentIDLabel && name != "":
		return "PropagationPolicy " + quote(annotations[policyv1alpha1.PropagationPolicyNamespaceAnnotation]+"/"+name)
	case key == policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel && clusterWide != "":
		return "ClusterPropagationPolicy " + quote(clusterWide)
	}
	return "a policy (" + key + ")"
}

// foreignDomains are the domains of the label keys that Karmada's other
// controllers select their Works by (pkg/util/constants.go, v1.18.2).
var foreignDomains = []string{
	"resourcebinding.karmada.io",
	"clusterresourcebinding.karmada.io",
	"binding.karmada.io",
	"multiclusterservice.karmada.io",
	"endpointslice.karmada.io",
	"federatedresourcequota.karmada.io",
}

// Mark shows that a Work belongs to another controller.
type Mark struct {
	// Text describes the mark; empty if there is none.
	Text string
	// Binding reports that the only mark is the label of a binding.
	Binding bool
}

// ForeignMark looks for a label of another controller, or a controlling owner.
func ForeignMark(labels map[string]string, owners []metav1.OwnerReference) Mark {
	for _, owner := range owners {
		if owner.Controller != nil && *owner.Controller {
			return Mark{Text: "it is controlled by " + owner.Kind + " " + quote(owner.Name)}
		}
	}
	var mark Mark
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		domain, _, _ := strings.Cut(key, "/")
		if !slices.Contains(foreignDomains, domain) {
			continue
		}
		binding := slices.Contains(bindingLabels, key)
		if mark.Text == "" || !binding {
			mark = Mark{Text: "it has the label " + key, Binding: binding}
		}
		if !binding {
			break
		}
	}
	return mark
}
