package render

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// podSpecs are the paths of the Pod specs in workloads.
var podSpecs = map[schema.GroupKind][]string{
	{Kind: "Pod"}:                        {"spec"},
	{Kind: "ReplicationController"}:      {"spec", "template", "spec"},
	{Group: "apps", Kind: "Deployment"}:  {"spec", "template", "spec"},
	{Group: "apps", Kind: "StatefulSet"}: {"spec", "template", "spec"},
	{Group: "apps", Kind: "DaemonSet"}:   {"spec", "template", "spec"},
	{Group: "apps", Kind: "ReplicaSet"}:  {"spec", "template", "spec"},
	{Group: "batch", Kind: "Job"}:        {"spec", "template", "spec"},
	{Group: "batch", Kind: "CronJob"}:    {"spec", "jobTemplate", "spec", "template", "spec"},
}

// NeedsOf returns the ConfigMaps, Secrets, ServiceAccounts and PersistentVolumeClaims without
// which the Pods of a workload do not start, sorted; nil for kinds without Pods. It skips
// optional references and the ServiceAccount that every Namespace has.
func NeedsOf(obj map[string]any, id Identity) []Identity {
	path, ok := podSpecs[id.GroupKind()]
	if !ok {
		return nil
	}
	spec, _, _ := unstructured.NestedFieldNoCopy(obj, path...)
	n := needs{namespace: id.Namespace, found: map[Identity]bool{}}
	n.pod(fieldsOf(spec))
	return slices.SortedFunc(maps.Keys(n.found), func(a, b Identity) int { return strings.Compare(a.String(), b.String()) })
}

type needs struct {
	namespace string
	found     map[Identity]bool
}

// add records the object that a reference names, unless the reference is optional.
func (n needs) add(kind string, reference map[string]any, key string) {
	name, _ := reference[key].(string)
	if optional, _ := reference["optional"].(bool); name != "" && !optional {
		n.found[Identity{Kind: kind, Namespace: n.namespace, Name: name}] = true
	}
}

func (n needs) pod(spec map[string]any) {
	if account := spec["serviceAccountName"]; account != "default" {
		n.add("ServiceAccount", spec, "serviceAccountName")
	}
	for secret := range each(spec["imagePullSecrets"]) {
		n.add("Secret", secret, "name")
	}
	for volume := range each(spec["volumes"]) {
		n.volume(volume)
	}
	for _, key := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for container := range each(spec[key]) {
			n.container(container)
		}
	}
}

// secretVolumes are the volumes whose driver reads a Secret, with the field that names it.
var secretVolumes = map[string]string{
	"azureFile": "secretName", "csi": "nodePublishSecretRef", "cephfs": "secretRef", "cinder": "secretRef", "flexVolume": "secretRef",
	"iscsi": "secretRef", "rbd": "secretRef", "scaleIO": "secretRef", "storageos": "secretRef",
}

func (n needs) volume(volume map[string]any) {
	n.add("Secret", fieldsOf(volume["secret"]), "secretName")
	n.add("ConfigMap", fieldsOf(volume["configMap"]), "name")
	n.add("PersistentVolumeClaim", fieldsOf(volume["persistentVolumeClaim"]), "claimName")
	for source := range each(fieldsOf(volume["projected"])["sources"]) {
		n.add("Secret", fieldsOf(source["secret"]), "name")
		n.add("ConfigMap", fieldsOf(source["configMap"]), "name")
	}
	for driver, field := range secretVolumes {
		reference := fieldsOf(volume[driver])
		n.add("Secret", reference, field)
		n.add("Secret", fieldsOf(reference[field]), "name")
	}
}

func (n needs) container(container map[string]any) {
	for source := range each(container["envFrom"]) {
		n.add("Secret", fieldsOf(source["secretRef"]), "name")
		n.add("ConfigMap", fieldsOf(source["configMapRef"]), "name")
	}
	for variable := range each(container["env"]) {
		from := fieldsOf(variable["valueFrom"])
		n.add("Secret", fieldsOf(from["secretKeyRef"]), "name")
		n.add("ConfigMap", fieldsOf(from["configMapKeyRef"]), "name")
	}
}

func fieldsOf(value any) map[string]any {
	fields, _ := value.(map[string]any)
	return fields
}

// each yields the objects in a list and skips anything else in it.
func each(value any) func(yield func(map[string]any) bool) {
	list, _ := value.([]any)
	return func(yield func(map[string]any) bool) {
		for _, item := range list {
			if fields := fieldsOf(item); fields != nil && !yield(fields) {
				return
			}
		}
	}
}
