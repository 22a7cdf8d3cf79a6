package cli

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// The two halves of the hint: there is a ClusterRole without effect, or none.
const (
	aggregateIt = "clusterrole-aggregation"
	addOne      = "add a ClusterRole"
)

var widgets = schema.GroupResource{Group: "example.io", Resource: "widgets"}

func widgetsRole(rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "widgets", Labels: map[string]string{aggregationLabel: "true"}}, Rules: rules}
}

func ruleOn(groups, resources, verbs string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: strings.Split(groups, ","), Resources: strings.Split(resources, ","), Verbs: strings.Split(verbs, ",")}
}

// TestHintOfRight tells a missing ClusterRole from one that exists without effect.
func TestHintOfRight(t *testing.T) {
	unlabelled := widgetsRole(ruleOn("*", "*", "*"))
	unlabelled.Labels = nil
	named := ruleOn("example.io", "widgets", "get,list,watch")
	named.ResourceNames = []string{"one"}
	cases := map[string]struct {
		reason string
		role   *rbacv1.ClusterRole
		there  bool
	}{
		"Grants":     {"it grants all three", widgetsRole(ruleOn("example.io", "widgets", "get,list,watch")), true},
		"Parts":      {"by several rules", widgetsRole(ruleOn("example.io", "*", "get,list"), ruleOn("*", "widgets", "watch")), true},
		"Half":       {"one verb is missing", widgetsRole(ruleOn("example.io", "widgets", "get,list")), false},
		"Group":      {"it is for another group", widgetsRole(ruleOn("other.io", "widgets", "*")), false},
		"Named":      {"one object is not all", widgetsRole(named), false},
		"Unlabelled": {"no controller aggregates it", unlabelled, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := (&checker{own: fake.NewClientset(c.role)}).hintOfRight(t.Context(), widgets)
			if err != nil {
				t.Fatal(err)
			}
			if there := strings.Contains(got, aggregateIt); there != c.there || there == strings.Contains(got, addOne) {
				t.Errorf("%s: %q", c.reason, got)
			}
		})
	}
}

// TestHintOfRightForbidden: with the daemon's kubeconfig, no one can tell which of the two it is.
func TestHintOfRightForbidden(t *testing.T) {
	client := fake.NewClientset(widgetsRole(ruleOn("example.io", "widgets", "*")))
	client.PrependReactor("list", "clusterroles", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(rbacv1.Resource("clusterroles"), "", nil)
	})
	got, err := (&checker{own: client}).hintOfRight(t.Context(), widgets)
	if err != nil || !strings.Contains(got, aggregateIt) || !strings.Contains(got, addOne) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestHintOfRightImpersonating: the daemon may not list ClusterRoles, but the user who
// impersonates it may.
func TestHintOfRightImpersonating(t *testing.T) {
	answers := map[string]any{
		reviewsPath: authenticationv1.SelfSubjectReview{TypeMeta: metav1.TypeMeta{Kind: "SelfSubjectReview", APIVersion: "authentication.k8s.io/v1"}},
		"/version":  apiversion.Info{GitVersion: "v1.35.0"},
		"/apis/rbac.authorization.k8s.io/v1/clusterroles": rbacv1.ClusterRoleList{
			TypeMeta: metav1.TypeMeta{Kind: "ClusterRoleList", APIVersion: "rbac.authorization.k8s.io/v1"},
			Items:    []rbacv1.ClusterRole{*widgetsRole(ruleOn("example.io", "widgets", "*"))},
		},
	}
	kubeconfig := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body := answers[r.URL.Path]
		if strings.Contains(r.URL.Path, "clusterroles") && r.Header.Get("Impersonate-User") != "" {
			w.WriteHeader(http.StatusForbidden)
			body = refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
		}
		_ = json.NewEncoder(w).Encode(body) // a client that has gone has gone
	})
	c := &checker{flags: connectionFlags(nil), out: io.Discard}
	*c.flags.KubeConfig, *c.flags.Impersonate = kubeconfig, accountPrefix+"karmada-system:karmada-mirror"
	if ok, err := c.checkServer(t.Context()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, err := c.client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("the daemon may list ClusterRoles: %v", err)
	}
	got, err := c.hintOfRight(t.Context(), widgets)
	if err != nil || !strings.Contains(got, aggregateIt) || strings.Contains(got, addOne) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestCheckWrite: where no replica leads, a write is tried, and a failure is shown unless a right explains it.
func TestCheckWrite(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"Written":   {nil, ""},
		"Forbidden": {apierrors.NewForbidden(coordinationv1.Resource("leases"), "x", nil), ""},
		"Full":      {apierrors.NewInternalError(errors.New("etcdserver: mvcc: database space exceeded")), "stores nothing: Internal error occurred: etcdserver: mvcc"},
	} {
		t.Run(name, func(t *testing.T) {
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-system", Name: "x"}} // released
			client, out := fake.NewClientset(lease), &strings.Builder{}
			client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) { return c.err != nil, nil, c.err })
			if err := (&checker{client: client, lease: lease.ObjectMeta, out: out}).checkLease(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c.want == "" == strings.Contains(out.String(), "stores nothing") || !strings.Contains(out.String(), c.want) {
				t.Errorf("it says %q", out)
			}
		})
	}
}
