package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Question asks the API server whether a user may do something.
type Question struct{ verb, group, resource, namespace, name string }

// May makes a question. The resource may have a subresource after a slash.
func May(verb, group, resource, namespace, name string) Question {
	return Question{verb, group, resource, namespace, name}
}

// WantRights checks what the daemon's ServiceAccount may do.
func WantRights(t *testing.T) {
	t.Helper()
	WantAnswers(t, Env.Client, Account, map[Question]bool{
		{"create", "work.karmada.io", "works", "karmada-es-member1", ""}:           true,
		{"patch", "work.karmada.io", "works", "karmada-es-member1", "any"}:         true,
		{"delete", "work.karmada.io", "works", "karmada-es-member1", "any"}:        true,
		{"deletecollection", "work.karmada.io", "works", "karmada-es-member1", ""}: false,
		{"get", "work.karmada.io", "resourcebindings", "default", "any"}:           true,
		{"delete", "work.karmada.io", "resourcebindings", "default", "any"}:        false,
		{"list", "cluster.karmada.io", "clusters", "", ""}:                         true,
		{"delete", "cluster.karmada.io", "clusters", "", "member1"}:                false,
		{"list", "apps", "deployments", "", ""}:                                    true,
		{"delete", "apps", "deployments", "default", "any"}:                        false,
		{"update", "", "configmaps", "default", "any"}:                             false,
		{"list", "", "secrets", "", ""}:                                            false,
		{"get", "", "secrets", System, "karmada-mirror"}:                           false,
		{"update", "coordination.k8s.io", "leases", System, Account}:               true,
		{"update", "coordination.k8s.io", "leases", System, "another"}:             false,
		{"create", "", "events", "default", ""}:                                    true,
		{"create", "policy.karmada.io", "propagationpolicies", "default", ""}:      false,
		{"create", "rbac.authorization.k8s.io", "clusterrolebindings", "", ""}:     false,
		{"impersonate", "", "users", "", "system:admin"}:                           false,
	})
}

// WantAnswers checks what one of our ServiceAccounts may do. Aggregated permissions take a
// moment.
func WantAnswers(t *testing.T, client kubernetes.Interface, name string, questions map[Question]bool) {
	t.Helper()
	for q, want := range questions {
		Eventually(t, fmt.Sprintf("the answer %v to: may %s %s %s.%s in %q, name %q", want, name, q.verb, q.resource, q.group, q.namespace, q.name), func(ctx context.Context) error {
			got, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, subjectAccessReview(name, q), metav1.CreateOptions{})
			if err == nil && got.Status.Allowed != want {
				err = fmt.Errorf("it is %v", got.Status.Allowed)
			}
			return err
		})
	}
}

func subjectAccessReview(name string, q Question) *authorizationv1.SubjectAccessReview {
	resource, subresource, _ := strings.Cut(q.resource, "/")
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   "system:serviceaccount:" + System + ":" + name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + System, "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: q.verb, Group: q.group, Resource: resource, Subresource: subresource, Namespace: q.namespace, Name: q.name,
		},
	}}
}

// MustRestart restarts components of Karmada.
func MustRestart(t *testing.T, names ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, name := range names {
		if err := Env.Component(name).Restart(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// WantAnswer waits until the API server can read the sources.
func WantAnswer(t *testing.T, namespace string) {
	t.Helper()
	Eventually(t, "the API server to answer", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(ConfigMaps).Namespace(namespace).Get(ctx, "page-3", metav1.GetOptions{})
		return err
	})
}

// Bearer is a bare token.
type Bearer string

// Refused returns an error as long as the API server accepts the token: it caches tokens
// for a while.
func (b Bearer) Refused(ctx context.Context) error {
	config := rest.AnonymousClientConfig(Env.Config())
	config.BearerToken = string(b)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().ConfigMaps(System).Get(ctx, Account, metav1.GetOptions{})
	if apierrors.IsUnauthorized(err) {
		return nil
	}
	return fmt.Errorf("it is not: %v", err)
}

// AsDaemon returns a client with the permissions of a test's daemons, whose requests are
// not counted as theirs.
func AsDaemon(t *testing.T) dynamic.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", Kubeconfig(t))
	Must(t, err)
	config.UserAgent = ProbeAgent
	client, err := dynamic.NewForConfig(config)
	Must(t, err)
	return client
}
