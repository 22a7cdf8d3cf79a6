package cli

import (
	"strings"
	"testing"
)

// TestAdvice uses the messages of Karmada v1.18.2 and kube-apiserver v1.35.
func TestAdvice(t *testing.T) {
	const failed = "Failed to apply all manifests (0/1): "
	cases := map[string]struct{ message, want string }{
		"Exists":      {failed + "resource(kind=ConfigMap, shop/page) already exists in the cluster member1 and the work.karmada.io/conflict-resolution strategy value is empty, Karmada will not manage this resource", "conflict-resolution=overwrite"},
		"Namespace":   {failed + `namespaces "shop" not found`, "Create it there"},
		"Terminating": {failed + `configmaps "page" is forbidden: unable to create new content in namespace shop because it is being terminated`, "being deleted in the member"},
		"Kind":        {failed + `no matches for kind "VirtualMachine" in version "example.io/v1"`, "CustomResourceDefinition"},
		"Quota":       {failed + `deployments.apps "web" is forbidden: exceeded quota: small, requested: count/deployments.apps=1`, "Raise it there"},
		"Webhook":     {failed + `admission webhook "policy.example.io" denied the request: no latest`, "member's admission"},
		"Policy":      {failed + `configmaps "page" is forbidden: ValidatingAdmissionPolicy 'no-pages' with binding 'no-pages' denied request: no`, "member's admission"},
		"Immutable":   {failed + `Deployment.apps "web" is invalid: spec.selector: Invalid value: {}: field is immutable`, "Delete the object in the member"},
		"Headless":    {failed + `Service "web" is invalid: spec.clusterIPs: Invalid value: ["None"]: first value must match ` + "`clusterIP`", "Delete the object in the member"},
		"ClusterIP":   {failed + `Service "web" is invalid: spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set`, "Delete the object in the member"},
		"StatefulSet": {failed + `StatefulSet.apps "db" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'template' are forbidden`, "replaces the members' objects too"},
		"Secret":      {failed + `Secret "s" is invalid: type: Invalid value: "Opaque": field is immutable`, "Delete the object in the member"},
		"RoleRef":     {failed + `RoleBinding.rbac.authorization.k8s.io "r" is invalid: roleRef: Invalid value: {}: cannot change roleRef`, "Delete the object in the member"},
		"Claim":       {failed + `PersistentVolumeClaim "c" is invalid: spec: Forbidden: spec is immutable after creation except resources.requests`, "Delete the object in the member"},
		"Rule":        {failed + `Widget.example.com "w" is invalid: spec.size: Invalid value: 2: Value is immutable`, "Delete the object in the member"},
		"Own":         {failed + "resource(kind=ConfigMap, shop/page) already exists in the cluster member1 and the work.karmada.io/conflict-resolution strategy value is empty, Karmada will not manage this resource", "or yours"},
		"Version":     {failed + "the server could not find the requested resource", "with this version"},
		"Right":       {failed + `configmaps is forbidden: User "system:serviceaccount:karmada-cluster:karmada-member1" cannot create resource "configmaps"`, "grant it that right"},
		"Away":        {failed + `Post "https://127.0.0.1:6443/api/v1/namespaces/shop/configmaps": dial tcp 127.0.0.1:6443: connect: connection refused`, "cannot reach"},
		"Invalid":     {failed + `Service "web" is invalid: spec.ports: Required value`, "names the field"},
		"Other":       {failed + "something else", "Karmada retries"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := advice(c.message); !strings.Contains(got, c.want) {
				t.Errorf("the advice for %q is %q", c.message, got)
			}
		})
	}
}
