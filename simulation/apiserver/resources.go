package apiserver

import (
	"encoding/base64"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is how a resource is served.
type Resource struct {
	Group, Resource, Kind, ListKind string
	// Versions are those that are served, the preferred one first.
	Versions []string
	// Storage is the version in which objects are kept; empty means the first one.
	Storage    string
	Namespaced bool
	// Status and Scale are subresources. With Status, a write sees either the status or the rest.
	Status, Scale bool
	// Generation counts the changes of anything but metadata and status.
	Generation bool
	// AnnotationsCount makes changed annotations count as well.
	AnnotationsCount bool
	// Unconditional allows a PUT without a resource version.
	Unconditional bool
	// CreateOnUpdate makes a PUT create an object that does not exist.
	CreateOnUpdate bool
	// ReturnsDeleted makes a DELETE return the object that it deleted.
	ReturnsDeleted bool
	// Custom is a resource that a CustomResourceDefinition defines.
	Custom                       bool
	Singular                     string
	ShortNames, Categories       []string
	SpecReplicas, StatusReplicas string // paths of the scale subresource, with dots
	LabelSelector                string
	// Prune removes what the schema does not know from a new state, which it may change.
	Prune func(Object)
	// Default sets what is missing, likewise.
	Default func(Object)
	// Validate returns an error of the API for a new state; old is nil at creation.
	Validate func(new, old Object) error

	definition any // the spec of the CustomResourceDefinition
}

// GroupResource names the resource.
func (r Resource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Resource}
}

func (r Resource) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.Group, Kind: r.Kind}
}

func (r Resource) apiVersion(version string) string {
	return schema.GroupVersion{Group: r.Group, Version: version}.String()
}

func (r Resource) storage() string {
	if r.Storage != "" {
		return r.Storage
	}
	return r.Versions[0]
}

func (r Resource) serves(version string) bool { return slices.Contains(r.Versions, version) }

// The flags of the table: n namespaced, s status, c scale, g generation, a annotations count for
// it, u unconditional updates, p created by PUT, d deletions return the object. They are
// those of kubernetes' pkg/registry (1.35), and of Karmada's definitions. Short names follow the resource.
type row struct{ group, versions, resource, kind, flags string }

func (r row) served() Resource {
	has, names := func(flag string) bool { return strings.Contains(r.flags, flag) }, strings.Fields(r.resource)
	return Resource{
		Group: r.group, Versions: strings.Fields(r.versions), Resource: names[0], ShortNames: names[1:], Kind: r.kind, ListKind: r.kind + "List",
		Singular: strings.ToLower(r.kind), Namespaced: has("n"), Status: has("s"), Scale: has("c"), Generation: has("g"),
		AnnotationsCount: has("a"), Unconditional: has("u"), CreateOnUpdate: has("p"), ReturnsDeleted: has("d"), Custom: has("x"),
		SpecReplicas: "spec.replicas", StatusReplicas: "status.replicas", LabelSelector: "spec.selector",
	}
}

func resources(rows []row) []Resource {
	all := make([]Resource, len(rows))
	for i, r := range rows {
		all[i] = r.served()
	}
	return all
}

// Builtin are the resources of Kubernetes that are simulated.
func Builtin() []Resource {
	all := resources([]row{
		{"", "v1", "namespaces ns", "Namespace", "su"},
		{"", "v1", "configmaps cm", "ConfigMap", "nu"},
		{"", "v1", "secrets", "Secret", "nu"},
		{"", "v1", "serviceaccounts sa", "ServiceAccount", "nud"},
		{"", "v1", "services svc", "Service", "nsupd"},
		{"", "v1", "endpoints", "Endpoints", "nup"},
		{"", "v1", "events", "Event", "nup"},
		{"", "v1", "pods", "Pod", "nsgud"},
		{"", "v1", "persistentvolumeclaims pvc", "PersistentVolumeClaim", "nsud"},
		{"", "v1", "persistentvolumes", "PersistentVolume", "sud"},
		{"", "v1", "nodes", "Node", "su"},
		{"", "v1", "resourcequotas", "ResourceQuota", "nsud"},
		{"", "v1", "limitranges", "LimitRange", "nup"},
		{"apps", "v1", "deployments deploy", "Deployment", "nscgau"},
		{"apps", "v1", "statefulsets sts", "StatefulSet", "nscgu"},
		{"apps", "v1", "daemonsets ds", "DaemonSet", "nsgu"},
		{"apps", "v1", "replicasets rs", "ReplicaSet", "nscgu"},
		{"batch", "v1", "jobs", "Job", "nsgu"},
		{"batch", "v1", "cronjobs cj", "CronJob", "nsgu"},
		{"networking.k8s.io", "v1", "ingresses ing", "Ingress", "nsgu"},
		{"networking.k8s.io", "v1", "ingressclasses", "IngressClass", "gu"},
		{"networking.k8s.io", "v1", "networkpolicies netpol", "NetworkPolicy", "ngu"},
		{"autoscaling", "v2 v1", "horizontalpodautoscalers hpa", "HorizontalPodAutoscaler", "nsu"},
		{"policy", "v1", "poddisruptionbudgets pdb", "PodDisruptionBudget", "nsg"},
		{"coordination.k8s.io", "v1", "leases", "Lease", "np"},
		{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", "ngu"},
		{"rbac.authorization.k8s.io", "v1", "roles", "Role", "nup"},
		{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", "nup"},
		{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", "up"},
		{"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", "up"},
		{"storage.k8s.io", "v1", "storageclasses", "StorageClass", "ud"},
		{"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", "gu"},
		{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", "sg"},
		{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", "g"},
		{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "g"},
		{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "g"},
		{"apiextensions.k8s.io", "v1", "customresourcedefinitions crd", "CustomResourceDefinition", "sg"},
		{"apiregistration.k8s.io", "v1", "apiservices", "APIService", "s"},
	})
	for i, r := range all {
		if r.Kind == "Secret" {
			all[i].Default = defaultSecret
		}
	}
	return all
}

// defaultSecret moves stringData to data.
func defaultSecret(o Object) {
	written, _ := o["stringData"].(map[string]any)
	delete(o, "stringData")
	data, _ := o["data"].(map[string]any)
	if data == nil && len(written) > 0 {
		data = map[string]any{}
		o["data"] = data
	}
	for key := range written {
		data[key] = base64.StdEncoding.EncodeToString([]byte(text(written, key)))
	}
	if text(o, "type") == "" {
		o["type"] = string(corev1.SecretTypeOpaque)
	}
}

// KarmadaResources are the resources of Karmada that are simulated. Clusters are served by
// its aggregated API server, but look like custom resources.
func KarmadaResources() []Resource {
	return resources([]row{
		{"cluster.karmada.io", "v1alpha1", "clusters", "Cluster", "sgx"},
		{"work.karmada.io", "v1alpha1", "works", "Work", "nsgx"},
		{"work.karmada.io", "v1alpha2 v1alpha1", "resourcebindings", "ResourceBinding", "nsgx"},
		{"work.karmada.io", "v1alpha2 v1alpha1", "clusterresourcebindings", "ClusterResourceBinding", "sgx"},
		{"policy.karmada.io", "v1alpha1", "propagationpolicies", "PropagationPolicy", "ngx"},
		{"policy.karmada.io", "v1alpha1", "clusterpropagationpolicies", "ClusterPropagationPolicy", "gx"},
		{"policy.karmada.io", "v1alpha1", "overridepolicies", "OverridePolicy", "ngx"},
		{"policy.karmada.io", "v1alpha1", "clusteroverridepolicies", "ClusterOverridePolicy", "gx"},
		{"policy.karmada.io", "v1alpha1", "federatedresourcequotas", "FederatedResourceQuota", "nsgx"},
		{"config.karmada.io", "v1alpha1", "resourceinterpretercustomizations", "ResourceInterpreterCustomization", "gx"},
		{"config.karmada.io", "v1alpha1", "resourceinterpreterwebhookconfigurations", "ResourceInterpreterWebhookConfiguration", "gx"},
	})
}
