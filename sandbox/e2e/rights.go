package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// WantRights checks what the daemon's ServiceAccount may do. A question is "verb
// resource[/subresource][.group] namespace name", with - for none.
func WantRights(t *testing.T) {
	t.Helper()
	WantAnswers(t, Env.Client, Account, map[string]bool{
		"create works.work.karmada.io karmada-es-member1 -":               true,
		"patch works.work.karmada.io karmada-es-member1 any":              true,
		"delete works.work.karmada.io karmada-es-member1 any":             true,
		"mirror works.work.karmada.io karmada-es-member1 any":             true,
		"deletecollection works.work.karmada.io karmada-es-member1 -":     false,
		"get resourcebindings.work.karmada.io default any":                true,
		"delete resourcebindings.work.karmada.io default any":             false,
		"list clusters.cluster.karmada.io - -":                            true,
		"delete clusters.cluster.karmada.io - member1":                    false,
		"list deployments.apps - -":                                       true,
		"delete deployments.apps default any":                             false,
		"update configmaps default any":                                   false,
		"list secrets - -":                                                false,
		"get secrets karmada-system karmada-mirror":                       false,
		"update leases.coordination.k8s.io karmada-system karmada-mirror": true,
		"update leases.coordination.k8s.io karmada-system another":        false,
		"create events default -":                                         true,
		"create propagationpolicies.policy.karmada.io default -":          false,
		"create clusterrolebindings.rbac.authorization.k8s.io - -":        false,
		"impersonate users - system:admin":                                false,
	})
}

// WantAnswers checks what one of our ServiceAccounts may do on an API server. Aggregated
// permissions take a moment.
func WantAnswers(t *testing.T, client kubernetes.Interface, account string, questions map[string]bool) {
	t.Helper()
	for question, want := range questions {
		Eventually(t, fmt.Sprintf("the answer %v to: may %s %s", want, account, question), func(ctx context.Context) error {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "system:serviceaccount:" + System + ":" + account, ResourceAttributes: attributes(question),
				Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + System, "system:authenticated"},
			}}
			got, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err == nil && got.Status.Allowed != want {
				err = fmt.Errorf("it is %v", got.Status.Allowed)
			}
			return err
		})
	}
}

func attributes(question string) *authorizationv1.ResourceAttributes {
	words := strings.Fields(question)
	resource, group, _ := strings.Cut(words[1], ".")
	resource, subresource, _ := strings.Cut(resource, "/")
	return &authorizationv1.ResourceAttributes{
		Verb: words[0], Group: group, Resource: resource, Subresource: subresource,
		Namespace: strings.Trim(words[2], "-"), Name: strings.Trim(words[3], "-"),
	}
}

// KubeconfigAs writes a copy of a kubeconfig that authenticates with a token.
func KubeconfigAs(t *testing.T, from, token string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(from)
	Must(t, err)
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	Must(t, clientcmd.WriteToFile(*config, path))
	return path
}

// WantRefused waits until the Karmada API server accepts a token no longer: it caches tokens for
// a while.
func WantRefused(t *testing.T, token string) {
	t.Helper()
	config := rest.AnonymousClientConfig(Env.Config())
	config.BearerToken = token
	client := kubernetes.NewForConfigOrDie(config)
	Eventually(t, "the token to be refused", func(ctx context.Context) error {
		if _, err := client.CoreV1().ConfigMaps(System).Get(ctx, Account, metav1.GetOptions{}); !apierrors.IsUnauthorized(err) {
			return fmt.Errorf("it is not: %v", err)
		}
		return nil
	})
}
