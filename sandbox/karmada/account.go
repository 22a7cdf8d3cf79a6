package karmada

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ServiceAccountKubeconfig is the function of the same name, for the Karmada API server.
func (k *Karmada) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (path string, err error) {
	path = filepath.Join(k.server.dir, fmt.Sprintf("serviceaccount_%s_%s.kubeconfig", namespace, name))
	return path, ServiceAccountKubeconfig(ctx, k.Kubeconfig(), namespace, name, path)
}

// ServiceAccountKubeconfig copies an administrator's kubeconfig to path, for a ServiceAccount that
// has a Secret of type kubernetes.io/service-account-token and of its own name: Karmada creates none
// by itself. It waits for the token of that Secret.
func ServiceAccountKubeconfig(ctx context.Context, admin, namespace, name, path string) error {
	config, err := clientcmd.BuildConfigFromFlags("", admin)
	if err != nil {
		return fmt.Errorf("cannot read kubeconfig %q: %w", admin, err)
	}
	client, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("cannot create a client: %w", err)
	}
	var token []byte
	err = wait.PollUntilContextTimeout(ctx, pollInterval, time.Minute, true, func(ctx context.Context) (bool, error) {
		secret, err := client.Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			token = secret.Data[corev1.ServiceAccountTokenKey]
		}
		return len(token) > 0, err
	})
	if err != nil {
		return fmt.Errorf("cannot get a token of ServiceAccount %q in namespace %q: %w", name, namespace, err)
	}
	kubeconfig, err := clientcmd.LoadFromFile(admin)
	if err != nil {
		return fmt.Errorf("cannot read kubeconfig %q: %w", admin, err)
	}
	for user := range kubeconfig.AuthInfos {
		kubeconfig.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: string(token)}
	}
	return clientcmd.WriteToFile(*kubeconfig, path)
}
