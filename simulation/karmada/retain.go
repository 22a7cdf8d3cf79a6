package karmada

import (
	"fmt"
	"slices"
	"strings"

	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// retainMetadata keeps what others have set in a member (retainClusterFields, pkg/util/objectwatcher/objectwatcher.go).
func retainMetadata(desired, observed Object) {
	d, o := in(desired), in(observed)
	d.SetResourceVersion(o.GetResourceVersion())
	d.SetFinalizers(o.GetFinalizers())
	d.SetOwnerReferences(o.GetOwnerReferences())
	// Keys that Karmada has set and no longer wants go; they are recorded in the annotations.
	of := o.GetAnnotations()
	merge(desired, "annotations", keysOfOthers(d.GetAnnotations(), of, of[workv1alpha2.ManagedAnnotation]))
	merge(desired, "labels", keysOfOthers(d.GetLabels(), o.GetLabels(), of[workv1alpha2.ManagedLabels]))
}

func keysOfOthers(desired, observed map[string]string, managed string) map[string]string {
	others := map[string]string{}
	for key, value := range observed {
		if _, has := desired[key]; !has && !strings.Contains(","+managed+",", ","+key+",") {
			others[key] = value
		}
	}
	return others
}

// retained are the fields that a member decides, by kind (pkg/resourceinterpreter/default/native/retain.go, without Pods
// and PersistentVolumes). They are retained if the member has a value.
var retained = map[schema.GroupVersionKind][][]string{
	service: {{"spec", "clusterIP"}, {"spec", "healthCheckNodePort"}},
	{Version: "v1", Kind: "PersistentVolumeClaim"}: {{"spec", "volumeName"}},
	{Group: "batch", Version: "v1", Kind: "Job"}:   {{"spec", "selector", "matchLabels"}, {"spec", "template", "metadata", "labels"}},
}

func retain(gvk schema.GroupVersionKind, desired, observed Object) error {
	keep := retained[gvk]
	switch gvk {
	case schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}:
		if in(desired).GetLabels()[retainReplicas] == "true" {
			if at(observed, "spec", "replicas") == nil {
				return fmt.Errorf("failed to get spec.replicas from %s %s/%s", gvk.Kind, in(observed).GetNamespace(), in(observed).GetName())
			}
			keep = [][]string{{"spec", "replicas"}}
		}
	case schema.GroupVersionKind{Version: "v1", Kind: "Secret"}:
		if stringAt(desired, "type") == string(corev1.SecretTypeServiceAccountToken) {
			keep = [][]string{{"data"}}
		}
	case schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}:
		for _, field := range []string{"secrets", "imagePullSecrets"} {
			if all := united(listAt(desired, field), listAt(observed, field)); len(all) > 0 {
				desired[field] = all
			}
		}
	}
	for _, path := range keep {
		if value := at(observed, path...); value != nil && value != "" && value != int64(0) {
			if err := unstructured.SetNestedField(desired, value, path...); err != nil {
				return err
			}
		}
	}
	return nil
}

// united are the references of both, by name.
func united(desired, observed []any) (all []any) {
	has := map[string]bool{}
	for _, item := range slices.Concat(desired, observed) {
		reference, _ := item.(Object)
		if name := stringAt(reference, "name"); !has[name] {
			has[name] = true
			all = append(all, item)
		}
	}
	return all
}
