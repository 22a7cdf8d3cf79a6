package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// question is one for the API server: may somebody do this?
type question struct{ verb, group, resource, namespace, name string }

// TestRights asks the API server what the ServiceAccount of the manifests may do.
func TestRights(t *testing.T) { wantRights(t) }

func wantRights(t *testing.T) {
	t.Helper()
	wantAnswers(t, env.client, account, map[question]bool{
		{"create", "work.karmada.io", "works", "karmada-es-member1", ""}:           true,
		{"patch", "work.karmada.io", "works", "karmada-es-member1", "any"}:         true,
		{"delete", "work.karmada.io", "works", "karmada-es-member1", "any"}:        true,
		{"deletecollection", "work.karmada.io", "works", "karmada-es-member1", ""}: false,
		{"list", "cluster.karmada.io", "clusters", "", ""}:                         true,
		{"delete", "cluster.karmada.io", "clusters", "", "member1"}:                false,
		{"list", "apps", "deployments", "", ""}:                                    true,
		{"delete", "apps", "deployments", "default", "any"}:                        false,
		{"update", "", "configmaps", "default", "any"}:                             false,
		{"list", "", "secrets", "", ""}:                                            false,
		{"get", "", "secrets", system, "karmada-mirror"}:                           false,
		{"update", "coordination.k8s.io", "leases", system, account}:               true,
		{"update", "coordination.k8s.io", "leases", system, "another"}:             false,
		{"create", "", "events", "default", ""}:                                    true,
		{"create", "policy.karmada.io", "propagationpolicies", "default", ""}:      false,
		{"create", "rbac.authorization.k8s.io", "clusterrolebindings", "", ""}:     false,
		{"impersonate", "", "users", "", "system:admin"}:                           false,
	})
}

// wantAnswers asks what a ServiceAccount of ours may do. Aggregated rights take a moment.
func wantAnswers(t *testing.T, client kubernetes.Interface, name string, questions map[question]bool) {
	t.Helper()
	for q, want := range questions {
		eventually(t, fmt.Sprintf("the answer %v to: may %s %s %s.%s in %q, name %q", want, name, q.verb, q.resource, q.group, q.namespace, q.name), func(ctx context.Context) error {
			got, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, subjectAccessReview(name, q), metav1.CreateOptions{})
			if err == nil && got.Status.Allowed != want {
				err = fmt.Errorf("it is %v", got.Status.Allowed)
			}
			return err
		})
	}
}

func subjectAccessReview(name string, q question) *authorizationv1.SubjectAccessReview {
	resource, subresource, _ := strings.Cut(q.resource, "/")
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   "system:serviceaccount:" + system + ":" + name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + system, "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: q.verb, Group: q.group, Resource: resource, Subresource: subresource, Namespace: q.namespace, Name: q.name,
		},
	}}
}

// TestHostManifests applies manifests/host to a real API server: a member plays
// the cluster where the Pods run. There is no node, so that no Pod starts.
func TestHostManifests(t *testing.T) {
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	host := env.members[push2]
	_, err := host.Resource(namespaces).Create(t.Context(), object("v1", "Namespace", "", system, nil), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	if err := karmada.ApplyKustomization(t.Context(), env.MemberConfig(push2), filepath.Join(env.builder.Repository(), "manifests", "host")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = host.Resource(deployments).Namespace(system).Delete(context.Background(), account, metav1.DeleteOptions{})
	})
	eventually(t, "two Pods", func(ctx context.Context) error {
		pods, err := host.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(system).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(pods.Items) != 2 {
			return fmt.Errorf("there are %d", len(pods.Items))
		}
		for _, pod := range pods.Items {
			if pod.GetAnnotations()["kubectl.kubernetes.io/default-container"] != account {
				return errors.New("a Pod is not the daemon's")
			}
		}
		return nil
	})
}
