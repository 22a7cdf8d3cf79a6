package karmada

import (
	"errors"
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

// Retain sets the fields of desired that the member decides to what it has.
func Retain(desired, observed Object) error {
	gvk := in(desired).GroupVersionKind()
	keep := retained[gvk]
	switch gvk {
	case schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}:
		if in(desired).GetLabels()[retainReplicas] == "true" {
			replicas, has := at(observed, "spec", "replicas").(int64)
			if !has {
				return fmt.Errorf("failed to get spec.replicas from %s %s/%s", gvk.Kind, in(observed).GetNamespace(), in(observed).GetName())
			}
			return unstructured.SetNestedField(desired, replicas, "spec", "replicas")
		}
	case schema.GroupVersionKind{Version: "v1", Kind: "Secret"}:
		if stringAt(desired, "type") == string(corev1.SecretTypeServiceAccountToken) {
			data, has, err := unstructured.NestedStringMap(observed, "data")
			if err != nil || !has {
				return err
			}
			return unstructured.SetNestedStringMap(desired, data, "data")
		}
	case schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}:
		for _, field := range []string{"secrets", "imagePullSecrets"} {
			all, err := united(listAt(desired, field), listAt(observed, field))
			if err != nil {
				return err
			}
			if len(all) > 0 {
				desired[field] = all
			}
		}
	}
	for _, path := range keep {
		value := at(observed, path...)
		if number, is := value.(int64); value != nil && value != "" && (!is || number > 0) {
			if err := unstructured.SetNestedField(desired, value, path...); err != nil {
				return err
			}
		}
	}
	return nil
}

// united are the references of both, by name; it fails where Karmada panics.
func united(desired, observed []any) (all []any, err error) {
	has := map[string]bool{}
	for _, item := range slices.Concat(desired, observed) {
		reference, _ := item.(Object)
		name, is := reference["name"].(string)
		if !is {
			return nil, errors.New("a reference has no name")
		}
		if !has[name] || len(all) < len(desired) {
			has[name] = true
			all = append(all, item)
		}
	}
	return all, nil
}
