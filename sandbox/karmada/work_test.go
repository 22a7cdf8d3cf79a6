package karmada

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util/names"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// workReaches creates a Work with a ConfigMap for a member, sees the ConfigMap
// arrive, deletes the Work and sees the ConfigMap removed.
func workReaches(t *testing.T, k *Karmada, member string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	name := strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
	if err := create(ctx, k, member, name); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(k.MemberConfig(member))
	if err != nil {
		t.Fatal(err)
	}
	configMaps := client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	err = k.Wait(ctx, "the ConfigMap in "+member, func(ctx context.Context) error {
		got, err := configMaps.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got.Data["from"] != "a Work" {
			return fmt.Errorf("its data is %v", got.Data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	works, err := worksOf(k, member)
	if err != nil {
		t.Fatal(err)
	}
	if err := works.Delete(ctx, workName(name), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	err = k.Wait(ctx, "the ConfigMap to leave "+member, func(ctx context.Context) error {
		_, err := configMaps.Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			return errors.New("it is still there")
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func workName(configMap string) string {
	return names.GenerateWorkName("ConfigMap", configMap, metav1.NamespaceDefault)
}

func worksOf(k *Karmada, member string) (dynamic.ResourceInterface, error) {
	client, err := dynamic.NewForConfig(k.Config())
	if err != nil {
		return nil, err
	}
	namespace := names.GenerateExecutionSpaceName(member)
	return client.Resource(schema.GroupVersion(workv1alpha1.GroupVersion).WithResource("works")).Namespace(namespace), nil
}

// create creates a Work with everything that Karmada requires.
func create(ctx context.Context, k *Karmada, member, name string) error {
	works, err := worksOf(k, member)
	if err != nil {
		return err
	}
	manifest, err := json.Marshal(&corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault,
			Name:      name,
			// Without the label, an existing object is neither updated nor
			// deleted; without the annotations, its changes go unnoticed.
			Labels: map[string]string{"karmada.io/managed": "true"},
			Annotations: map[string]string{
				workv1alpha2.WorkNamespaceAnnotation: names.GenerateExecutionSpaceName(member),
				workv1alpha2.WorkNameAnnotation:      workName(name),
			},
		},
		Data: map[string]string{"from": "a Work"},
	})
	if err != nil {
		return err
	}
	work := &workv1alpha1.Work{
		TypeMeta: metav1.TypeMeta{APIVersion: workv1alpha1.GroupVersion.String(), Kind: "Work"},
		ObjectMeta: metav1.ObjectMeta{
			Name: workName(name),
			// Without it, the Work is gone before its object is.
			Finalizers: []string{"karmada.io/execution-controller"},
		},
		Spec: workv1alpha1.WorkSpec{Workload: workv1alpha1.WorkloadTemplate{
			Manifests: []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: manifest}}},
		}},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(work)
	if err != nil {
		return err
	}
	_, err = works.Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	return err
}
