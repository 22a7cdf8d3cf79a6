package override

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// overrideImages changes the image at the predicate's path, or those of all containers
// (pkg/util/overridemanager/imageoverride.go, v1.18.2).
func overrideImages(obj map[string]any, o policyv1alpha1.ImageOverrider) error {
	if o.Predicate != nil {
		return overrideImageAt(obj, o.Predicate.Path, o)
	}
	if err := checkKind(obj); err != nil {
		return err
	}
	list, _, err := containersOf(obj)
	if list == nil && err == nil { // null is none, once the object has been decoded
		return nil
	}
	containers, err := objectsIn(list)
	if err != nil {
		return fmt.Errorf(": %w", err)
	}
	for i, container := range containers {
		image, _ := container["image"].(string)
		changed, err := changeImage(image, o)
		if err != nil {
			return fmt.Errorf(": container %d: %w", i, err)
		}
		container["image"] = changed
	}
	return nil
}

// checkKind refuses what Karmada refuses: it decodes the whole object by its kind alone, so
// that a custom Deployment must look like the built-in one.
func checkKind(obj map[string]any) error {
	var typed any
	switch obj["kind"] {
	case "Pod":
		typed = &corev1.Pod{}
	case "ReplicaSet":
		typed = &appsv1.ReplicaSet{}
	case "Deployment":
		typed = &appsv1.Deployment{}
	case "DaemonSet":
		typed = &appsv1.DaemonSet{}
	case "StatefulSet":
		typed = &appsv1.StatefulSet{}
	case "Job":
		typed = &batchv1.Job{}
	default:
		return nil
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(obj, typed) != nil {
		return fmt.Errorf(": the object does not decode as a built-in %s", obj["kind"])
	}
	return nil
}

// overrideImageAt reads the image by Karmada's own path, which knows no escapes, and writes
// it by a JSON pointer.
func overrideImageAt(obj map[string]any, path string, o policyv1alpha1.ImageOverrider) error {
	image, ok := textAt(obj, strings.Split(strings.Trim(path, "/"), "/"))
	if !ok || !strings.HasPrefix(path, "/") {
		return fmt.Errorf(": there is no string at %+.100q", path)
	}
	changed, err := changeImage(image, o)
	if err != nil {
		return fmt.Errorf(": %w", err)
	}
	encoded, err := json.Marshal(changed)
	if err != nil {
		return errors.New(": the image cannot be encoded")
	}
	if err := patchObject(obj, []operation{{policyv1alpha1.OverriderOpReplace, path, encoded}}); err != nil {
		return fmt.Errorf(": the predicate's path %+.100q is not the image's", path)
	}
	return nil
}

// textAt returns false also where Karmada panics: for an index that is out of range, and for
// an item that is not an object.
func textAt(obj map[string]any, path []string) (text string, ok bool) {
	last := len(path) - 1
	for i := 0; i < last; i++ {
		switch v := obj[path[i]].(type) {
		case map[string]any:
			obj = v
		case []any:
			i++
			index, err := strconv.ParseInt(path[i], 10, 32)
			if err != nil || index < 0 || int(index) >= len(v) {
				return "", false
			}
			if obj, ok = v[index].(map[string]any); !ok {
				return "", false
			}
		default:
			return "", false
		}
	}
	text, ok = obj[path[last]].(string)
	return text, ok
}

func changeImage(image string, o policyv1alpha1.ImageOverrider) (string, error) {
	r, ok := parseReference(image)
	if !ok {
		return "", errors.New("its image is not a valid reference")
	}
	change := func(component string) string {
		switch o.Operator {
		case policyv1alpha1.OverriderOpAdd:
			return component + o.Value
		case policyv1alpha1.OverriderOpReplace:
			return o.Value
		case policyv1alpha1.OverriderOpRemove:
			return ""
		}
		return component
	}
	switch o.Component {
	case policyv1alpha1.Registry:
		r.registry = change(r.registry)
	case policyv1alpha1.Repository:
		r.repository = change(r.repository)
	case policyv1alpha1.Tag:
		r.setVersion(change(r.version()), o.Operator == policyv1alpha1.OverriderOpRemove)
	default:
		return "", fmt.Errorf("the component %.20q is unknown", o.Component)
	}
	return r.String(), nil
}
