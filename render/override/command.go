package override

import (
	"errors"
	"fmt"
	"slices"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var (
	podPath      = []string{"spec", "containers"}
	templatePath = []string{"spec", "template", "spec", "containers"}
)

// containersPath is where the kinds whose containers Karmada overrides have them; nil for
// any other kind. It looks at the kind alone, whatever the group. CronJobs and init
// containers are not among them (buildCommandArgsPatches in
// pkg/util/overridemanager/commandargsoverride.go, v1.18.2).
func containersPath(kind any) []string {
	switch kind {
	case "Pod":
		return podPath
	case "ReplicaSet", "Deployment", "DaemonSet", "Job", "StatefulSet":
		return templatePath
	}
	return nil
}

var errNoContainers = errors.New("its containers are not a list of objects")

// containersOf returns the field that holds the containers, not a copy.
func containersOf(obj map[string]any) (field any, found bool, err error) {
	path := containersPath(obj["kind"])
	if path == nil {
		return nil, false, nil
	}
	if field, found, err = unstructured.NestedFieldNoCopy(obj, path...); err != nil {
		return nil, false, errNoContainers // the error may quote the object
	}
	return field, found, nil
}

// objectsIn refuses a list with anything else in it, on which Karmada panics.
func objectsIn(field any) ([]map[string]any, error) {
	list, ok := field.([]any)
	if !ok {
		return nil, errNoContainers
	}
	objects := make([]map[string]any, 0, len(list))
	for _, item := range list {
		object, ok := item.(map[string]any)
		if !ok {
			return nil, errNoContainers
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// overrideCommand changes the command or the args of the containers with a name. If there is
// none, nothing changes; if it has no command, to remove from it makes it an empty list.
func overrideCommand(obj map[string]any, field string, o policyv1alpha1.CommandArgsOverrider) error {
	list, found, err := containersOf(obj)
	if !found && err == nil {
		return nil
	}
	containers, err := objectsIn(list)
	if err != nil {
		return fmt.Errorf(": %w", err)
	}
	for _, container := range containers {
		if container["name"] != any(o.ContainerName) {
			continue
		}
		items, isList := container[field].([]any)
		isText := func(item any) bool { _, ok := item.(string); return ok }
		if !isList && container[field] != nil || slices.ContainsFunc(items, func(item any) bool { return !isText(item) }) {
			return fmt.Errorf(": %s of the container is not a list of strings", field)
		}
		container[field] = changeItems(items, o)
	}
	return nil
}

// changeItems returns a new list. Any other operator leaves the items as they are, in a list.
func changeItems(items []any, o policyv1alpha1.CommandArgsOverrider) []any {
	changed := make([]any, 0, len(items)+len(o.Value))
	for _, item := range items {
		text, _ := item.(string)
		if o.Operator != policyv1alpha1.OverriderOpRemove || !slices.Contains(o.Value, text) {
			changed = append(changed, item)
		}
	}
	if o.Operator == policyv1alpha1.OverriderOpAdd {
		for _, text := range o.Value {
			changed = append(changed, text)
		}
	}
	return changed
}
