package karmada

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ServiceAccountKubeconfig writes a kubeconfig for a ServiceAccount of the
// Karmada API server and returns its path. The account must have a Secret of
// type kubernetes.io/service-account-token, because Karmada creates none by
// itself. It waits for the token of that Secret.
func (k *Karmada) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (path string, err error) {
	client, err := typedcorev1.NewForConfig(k.server.config)
	if err != nil {
		return "", fmt.Errorf("cannot create a client: %w", err)
	}
	var token string
	err = k.Wait(ctx, fmt.Sprintf("a token of ServiceAccount %q in namespace %q", name, namespace), func(ctx context.Context) error {
		token, err = serviceAccountToken(ctx, client, namespace, name)
		return err
	})
	if err != nil {
		return "", err
	}
	path = filepath.Join(k.server.dir, fmt.Sprintf("serviceaccount_%s_%s.kubeconfig", namespace, name))
	return path, k.server.write(path, &clientcmdapi.AuthInfo{Token: token})
}

func serviceAccountToken(ctx context.Context, client typedcorev1.SecretsGetter, namespace, name string) (string, error) {
	secrets, err := client.Secrets(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "type=" + string(corev1.SecretTypeServiceAccountToken),
	})
	if err != nil {
		return "", err
	}
	for _, secret := range secrets.Items {
		token := secret.Data[corev1.ServiceAccountTokenKey]
		if secret.Annotations[corev1.ServiceAccountNameKey] == name && len(token) > 0 {
			return string(token), nil
		}
	}
	return "", errors.New("none of its Secrets has a token")
}
