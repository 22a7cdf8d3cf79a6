package config

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// usualSystemNamespaces are where members usually run what has rights over a whole cluster. They
// are a configuration's systemNamespaces if it has none.
var usualSystemNamespaces = []string{"argocd", "cert-manager", "flux-system", "gatekeeper-system", "istio-system", "kyverno", "monitoring"}

// ownNamespaces are those that Kubernetes and Karmada themselves make. Nothing allows them.
var ownNamespaces = sets.New("kube-system", "kube-public", "kube-node-lease", "karmada-system", "karmada-cluster")

// executionPrefix begins the namespaces in which Karmada keeps the Works of a cluster.
const executionPrefix = "karmada-es-"

// IsSystemNamespace reports whether objects in a namespace are never mirrored, because every member manages them itself. Of a
// configuration that is not known, nil, the defaults hold.
func (c *Configuration) IsSystemNamespace(namespace string) bool {
	system := usualSystemNamespaces
	if c != nil && c.SystemNamespaces != nil {
		system = c.SystemNamespaces
	}
	if namespace == "" || c != nil && slices.Contains(c.AllowNamespaces, namespace) {
		return false
	}
	return strings.HasPrefix(namespace, "kube-") || strings.HasPrefix(namespace, "karmada-") || matches(system, namespace)
}

func validateNamespaces(c *Configuration) field.ErrorList {
	errs := validateGlobs(c.SystemNamespaces, "namespace", field.NewPath("systemNamespaces"))
	for i, name := range c.AllowNamespaces {
		switch at := field.NewPath("allowNamespaces").Index(i); {
		case !validGlob(name) || strings.ContainsAny(name, "*?"):
			errs = append(errs, field.Invalid(at, name, "must be the name of a namespace, without wildcards"))
		case ownNamespaces.Has(name) || strings.HasPrefix(name, executionPrefix):
			errs = append(errs, field.Forbidden(at, name+" belongs to Kubernetes or Karmada"))
		}
	}
	return errs
}
