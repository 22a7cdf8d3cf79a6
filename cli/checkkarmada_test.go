package cli

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
)

// TestHintOfRight tells a missing ClusterRole from one that exists without effect.
func TestHintOfRight(t *testing.T) {
	role := func(rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "widgets", Labels: map[string]string{aggregationLabel: "true"}}, Rules: rules}
	}
	rule := func(groups, resources, verbs string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: strings.Split(groups, ","), Resources: strings.Split(resources, ","), Verbs: strings.Split(verbs, ",")}
	}
	unlabelled := role(rule("*", "*", "*"))
	unlabelled.Labels = nil
	named := rule("example.io", "widgets", "get,list,watch")
	named.ResourceNames = []string{"one"}
	cases := map[string]struct {
		reason string
		role   *rbacv1.ClusterRole
		there  bool
	}{
		"Grants":     {"it grants all three", role(rule("example.io", "widgets", "get,list,watch")), true},
		"Parts":      {"by several rules", role(rule("example.io", "*", "get,list"), rule("*", "widgets", "watch")), true},
		"Half":       {"one verb is missing", role(rule("example.io", "widgets", "get,list")), false},
		"Group":      {"it is for another group", role(rule("other.io", "widgets", "*")), false},
		"Named":      {"one object is not all", role(named), false},
		"Unlabelled": {"no controller aggregates it", unlabelled, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := (&checker{client: fake.NewClientset(c.role)}).hintOfRight(t.Context(), schema.GroupResource{Group: "example.io", Resource: "widgets"})
			if err != nil {
				t.Fatal(err)
			}
			if there := strings.Contains(got, "clusterrole-aggregation"); there != c.there || there == strings.Contains(got, "add a ClusterRole") {
				t.Errorf("%s: %q", c.reason, got)
			}
		})
	}
}
