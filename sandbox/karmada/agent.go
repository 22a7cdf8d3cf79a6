package karmada

import (
	"context"
	"path/filepath"
	"strings"
)

// agentGroup is the group of all agents, and agentUser the user of the agent of one cluster, as karmadactl register has them
// certified (pkg/karmadactl/register/register.go, v1.18.2).
const agentGroup = "system:karmada:agents"

func agentUser(cluster string) string { return "system:karmada:agent:" + cluster }

// agentRights are what karmadactl register gives the agent of the cluster NAME: GenerateClusterRole,
// GenerateSecretAccessRole and GenerateWorkAccessRole there.
const agentRights = `
apiVersion: v1
kind: Namespace
metadata: {name: karmada-es-NAME}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "system:karmada:NAME:agent"}
rules:
- {apiGroups: [cluster.karmada.io], resources: [clusters], resourceNames: [NAME], verbs: [get, delete]}
- {apiGroups: [cluster.karmada.io], resources: [clusters], verbs: [create, list, watch]}
- {apiGroups: [cluster.karmada.io], resources: [clusters/status], resourceNames: [NAME], verbs: [update]}
- {apiGroups: [config.karmada.io], resources: [resourceinterpreterwebhookconfigurations, resourceinterpretercustomizations], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [namespaces], verbs: [get]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}
- {apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests], verbs: [get, create]}
- {apiGroups: [""], resources: [services], verbs: [list, watch]}
- {apiGroups: [""], resources: [events], verbs: [patch, create, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "system:karmada:NAME:agent"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:karmada:NAME:agent"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: USER}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "system:karmada:NAME:agent-secret", namespace: karmada-cluster}
rules:
- {apiGroups: [""], resources: [secrets], resourceNames: [NAME, NAME-impersonator], verbs: [get, patch]}
- {apiGroups: [""], resources: [secrets], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "system:karmada:NAME:agent-secret", namespace: karmada-cluster}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "system:karmada:NAME:agent-secret"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: USER}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "system:karmada:NAME:agent-work", namespace: karmada-es-NAME}
rules:
- {apiGroups: [work.karmada.io], resources: [works], verbs: [get, create, list, watch, update, delete]}
- {apiGroups: [work.karmada.io], resources: [works/status], verbs: [patch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "system:karmada:NAME:agent-work", namespace: karmada-es-NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "system:karmada:NAME:agent-work"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: USER}]
`

// AgentKubeconfig is the path of the kubeconfig of a member's agent, which has no more rights than Karmada gives it.
func (k *Karmada) AgentKubeconfig(member string) string {
	return filepath.Join(k.server.dir, Agent(member)+".kubeconfig")
}

// registerPull gives the agent its rights, and leaves the registration to it.
func (k *Karmada) registerPull(ctx context.Context, m *member) error {
	rights := strings.NewReplacer("NAME", m.Name, "USER", agentUser(m.Name)).Replace(agentRights)
	if err := Apply(ctx, k.server.config, []byte(rights)); err != nil {
		return err
	}
	return k.run(ctx, func() (spec, error) { return k.agentSpec(m) })
}
