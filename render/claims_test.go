package render

import (
	"testing"

	networkingv1alpha1 "github.com/karmada-io/api/networking/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestClaimedBy(t *testing.T) {
	cases := map[string]struct {
		reason              string
		labels, annotations map[string]string
		want                string
	}{
		"Nobody":  {"Other labels do not claim it.", map[string]string{"app": "web"}, map[string]string{"karmada.io/x": "y"}, ""},
		"Policy":  {"A PropagationPolicy claims by its ID.", map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "1"}, nil, "a policy (" + policyv1alpha1.PropagationPolicyPermanentIDLabel + ")"},
		"Cluster": {"So does a ClusterPropagationPolicy.", map[string]string{policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel: "1"}, nil, "a policy (" + policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel + ")"},
		"Service": {"A MultiClusterService by its kind.", map[string]string{"resourcetemplate.karmada.io/claimed-by": "MultiClusterService"}, nil, "a policy (" + "resourcetemplate.karmada.io/claimed-by" + ")"},
		"Named": {"Karmada records the policy's name.", map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "1"},
			map[string]string{policyv1alpha1.PropagationPolicyNamespaceAnnotation: "shop", policyv1alpha1.PropagationPolicyNameAnnotation: "web"}, `PropagationPolicy "shop/web"`},
		"ClusterNamed": {"And that of a ClusterPropagationPolicy.", map[string]string{policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel: "1"},
			map[string]string{policyv1alpha1.ClusterPropagationPolicyAnnotation: "web"}, `ClusterPropagationPolicy "web"`},
		"EmptyID":     {"A policy created while the webhook was down has no ID, but still claims.", map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: ""}, nil, "a policy (" + policyv1alpha1.PropagationPolicyPermanentIDLabel + ")"},
		"Annotations": {"Refusing too much is the safe side.", nil, map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "1"}, "a policy (" + policyv1alpha1.PropagationPolicyPermanentIDLabel + ")"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, claimed := ClaimedBy(tc.labels, tc.annotations)
			if got != tc.want || claimed != (tc.want != "") {
				t.Errorf("%s\nClaimedBy is %q, %v", tc.reason, got, claimed)
			}
		})
	}
}

func TestForeignMark(t *testing.T) {
	yes, no := true, false
	cases := map[string]struct {
		reason  string
		labels  map[string]string
		owners  []metav1.OwnerReference
		want    bool
		binding bool
	}{
		"Ours":             {"Our labels and Karmada's ID are not marks.", map[string]string{ManagedByLabel: ManagedByValue, SourceIDLabel: "x", workIDLabel: "y"}, nil, false, false},
		"Binding":          {"Bindings delete Works with their ID.", map[string]string{bindingIDLabel: "x"}, nil, true, true},
		"OursAndBinding":   {"Whatever other labels it has.", map[string]string{ManagedByLabel: ManagedByValue, bindingIDLabel: "x"}, nil, true, true},
		"ClusterBinding":   {"So do cluster bindings.", map[string]string{clusterBindingIDLabel: "x"}, nil, true, true},
		"Service":          {"A MultiClusterService's Work.", map[string]string{networkingv1alpha1.MultiClusterServicePermanentIDLabel: "x"}, nil, true, false},
		"ServiceName":      {"Its older label.", map[string]string{"multiclusterservice.karmada.io/name": "x"}, nil, true, false},
		"EndpointSlice":    {"Collected from members.", map[string]string{"endpointslice.karmada.io/name": "x"}, nil, true, false},
		"EndpointSliceOf":  {"And dispatched to them.", map[string]string{"endpointslice.karmada.io/managed-by": "x"}, nil, true, false},
		"Quota":            {"A FederatedResourceQuota's Work.", map[string]string{"federatedresourcequota.karmada.io/namespace": "x"}, nil, true, false},
		"EmptyValue":       {"A selector on existence ignores the value.", map[string]string{"federatedresourcequota.karmada.io/name": ""}, nil, true, false},
		"Lookalike":        {"Another project's domain.", map[string]string{"my.endpointslice.karmada.io/name": "x"}, nil, false, false},
		"BindingAndQuota":  {"A binding's Work that another controller has marked too.", map[string]string{bindingIDLabel: "x", "federatedresourcequota.karmada.io/name": "x"}, nil, true, false},
		"QuotaAndBinding":  {"Whichever of the two labels comes first.", map[string]string{clusterBindingIDLabel: "x", "federatedresourcequota.karmada.io/name": "x"}, nil, true, false},
		"Controller":       {"A controller owns it.", nil, []metav1.OwnerReference{{Kind: "Widget", Name: "w"}, {Kind: "Gadget", Name: "g", Controller: &yes}}, true, false},
		"OwnerOnly":        {"An owner that does not control it leaves it to us.", nil, []metav1.OwnerReference{{Kind: "Widget", Name: "w", Controller: &no}, {Kind: "Widget"}}, false, false},
		"NothingAtAllOnIt": {"Nothing is not a mark; other checks must show that it is ours.", nil, nil, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mark := ForeignMark(tc.labels, tc.owners)
			if (mark.Text != "") != tc.want || mark.Binding != tc.binding {
				t.Errorf("%s\nForeignMark is %+v", tc.reason, mark)
			}
		})
	}
}
