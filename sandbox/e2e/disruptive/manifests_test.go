package disruptive

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestHostManifests applies manifests/host to a real API server: a member plays the
// cluster where the Pods run. It has no node, so no Pod starts.
func TestHostManifests(t *testing.T) {
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	host := Env.Member(Push2)
	_, err := host.Resource(Namespaces).Create(t.Context(), Object("v1", "Namespace", "", System, nil), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	if err := karmada.ApplyKustomization(t.Context(), Env.MemberConfig(Push2), filepath.Join(Env.Builder.Repository(), "manifests", "host")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = host.Resource(deployments).Namespace(System).Delete(context.Background(), Account, metav1.DeleteOptions{})
	})
	Eventually(t, "two Pods", func(ctx context.Context) error {
		pods, err := host.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(System).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(pods.Items) != 2 {
			return fmt.Errorf("there are %d", len(pods.Items))
		}
		for _, pod := range pods.Items {
			if pod.GetAnnotations()["kubectl.kubernetes.io/default-container"] != Account {
				return errors.New("a Pod is not the daemon's")
			}
		}
		return nil
	})
}
