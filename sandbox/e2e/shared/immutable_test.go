package shared

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// immutables are changes of objects: a merge patch each.
var immutables = []struct {
	resource, object string
	changes          []string
}{
	{"configmaps", `{apiVersion: v1, kind: ConfigMap, immutable: true, data: {a: b}}`, []string{`data: {a: c}`, `immutable: false`, `binaryData: {a: Yg==}`, `metadata: {labels: {a: b}}`}},
	{"configmaps", `{apiVersion: v1, kind: ConfigMap, data: {a: b}}`, []string{`data: {a: c}`, `immutable: true`}},
	{"secrets", `{apiVersion: v1, kind: Secret, type: Opaque, data: {a: Yg==}}`, []string{`type: example.com/other`, `data: {a: Yw==}`, `immutable: true`}},
	{"secrets", `{apiVersion: v1, kind: Secret, immutable: true, data: {a: Yg==}}`, []string{`data: {a: Yw==}`, `immutable: null`}},
	{"services", `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}`, []string{
		`spec: {clusterIP: None, clusterIPs: [None]}`, `spec: {type: NodePort}`, `spec: {selector: {a: b}}`, `spec: {type: ExternalName, externalName: example.com, clusterIP: null, clusterIPs: null, ipFamilies: null, ipFamilyPolicy: null, internalTrafficPolicy: null}`,
	}},
	{"services", `{apiVersion: v1, kind: Service, spec: {type: ExternalName, externalName: example.com, ports: [{port: 80}]}}`, []string{`spec: {type: ClusterIP, externalName: null}`, `spec: {externalName: example.org}`}},
	{"services", `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}`, []string{`spec: {ipFamilies: null, ipFamilyPolicy: null}`, `spec: {type: LoadBalancer, loadBalancerClass: example.com/a}`, `metadata: {labels: {a: b}}`}},
	{"resourcequotas", `{apiVersion: v1, kind: ResourceQuota, spec: {hard: {pods: "1"}, scopes: [Terminating]}}`, []string{`spec: {scopes: [NotTerminating]}`, `spec: {hard: {pods: "2"}}`}},
	{"pods", `{apiVersion: v1, kind: Pod, spec: {automountServiceAccountToken: false, containers: [{name: a, image: "a:1"}]}}`, []string{`spec: {containers: [{name: a, image: "a:2", imagePullPolicy: IfNotPresent, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File, resources: {}}]}`, `spec: {containers: [{name: a, image: "a:1", command: [a]}]}`, `spec: {hostNetwork: true}`, `spec: {activeDeadlineSeconds: 5}`, `metadata: {labels: {a: b}}`}},
	{"apps/deployments", workload("Deployment", ""), []string{`spec: {selector: {matchLabels: {b: c}}}`, `spec: {replicas: 3}`, `spec: {template: {metadata: {labels: {d: e}}}}`, `spec: {strategy: {type: Recreate, rollingUpdate: null}}`}},
	{"apps/daemonsets", workload("DaemonSet", ""), []string{`spec: {selector: {matchLabels: {b: c}}}`, `spec: {minReadySeconds: 3}`}},
	{"apps/replicasets", workload("ReplicaSet", ""), []string{`spec: {selector: {matchLabels: {b: c}}}`, `spec: {replicas: 3}`}},
	{"apps/statefulsets", workload("StatefulSet", `serviceName: s, volumeClaimTemplates: [{metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}],`), []string{
		`spec: {selector: {matchLabels: {b: c}}}`, `spec: {serviceName: t}`, `spec: {podManagementPolicy: Parallel}`, `spec: {volumeClaimTemplates: null}`,
		`spec: {volumeClaimTemplates: [{metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}]}`, `spec: {replicas: 3}`, `spec: {updateStrategy: {type: OnDelete, rollingUpdate: null}}`, `spec: {minReadySeconds: 3}`, `spec: {persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Delete}}`, `spec: {ordinals: {start: 1}}`,
	}},
	{"apps/controllerrevisions", `{apiVersion: apps/v1, kind: ControllerRevision, revision: 1, data: {a: b}}`, []string{`data: {a: c}`, `revision: 2`}},
	{"batch/cronjobs", `{apiVersion: batch/v1, kind: CronJob, spec: {schedule: "@daily", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}}}}`, []string{`spec: {schedule: "@hourly"}`, `spec: {jobTemplate: {spec: {backoffLimit: 1}}}`}},
	{"rbac.authorization.k8s.io/rolebindings", `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}`, []string{`roleRef: {name: edit}`, `subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: a}]`}},
	{"rbac.authorization.k8s.io/clusterrolebindings", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}`, []string{`roleRef: {name: edit}`, `subjects: []`}},
	{"rbac.authorization.k8s.io/roles", `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: []}`, []string{`rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`}},
	{"scheduling.k8s.io/priorityclasses", `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 5}`, []string{`value: 6`, `preemptionPolicy: Never`, `description: a`}},
	{"storage.k8s.io/storageclasses", `{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: a.example.com}`, []string{`provisioner: b.example.com`, `parameters: {a: b}`, `reclaimPolicy: Retain`, `volumeBindingMode: WaitForFirstConsumer`, `allowVolumeExpansion: true`, `mountOptions: [ro]`}},
	{"storage.k8s.io/csidrivers", `{apiVersion: storage.k8s.io/v1, kind: CSIDriver, spec: {attachRequired: true}}`, []string{`spec: {attachRequired: false}`, `spec: {volumeLifecycleModes: [Ephemeral]}`, `spec: {podInfoOnMount: true}`, `spec: {fsGroupPolicy: None}`, `spec: {requiresRepublish: true}`}},
	{"node.k8s.io/runtimeclasses", `{apiVersion: node.k8s.io/v1, kind: RuntimeClass, handler: a}`, []string{`handler: b`, `metadata: {labels: {a: b}}`}},
	{"networking.k8s.io/ingressclasses", `{apiVersion: networking.k8s.io/v1, kind: IngressClass, spec: {controller: example.com/a}}`, []string{`spec: {controller: example.com/b}`, `spec: {parameters: {kind: A, name: a, scope: Cluster}}`}},
	{"networking.k8s.io/ingresses", `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}}`, []string{`spec: {ingressClassName: a}`}},
	{"networking.k8s.io/networkpolicies", `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}}}`, []string{`spec: {podSelector: {matchLabels: {a: b}}}`}},
	{"discovery.k8s.io/endpointslices", `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, endpoints: []}`, []string{`addressType: FQDN`, `ports: [{port: 80}]`}},
	{"policy/poddisruptionbudgets", `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}}`, []string{`spec: {minAvailable: 2}`, `spec: {selector: {matchLabels: {a: c}}}`}},
	{"autoscaling/horizontalpodautoscalers", `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 1, scaleTargetRef: {kind: Deployment, name: a, apiVersion: apps/v1}}}`, []string{`spec: {scaleTargetRef: {name: b}}`}},
}

func workload(kind, more string) string {
	return `{apiVersion: apps/v1, kind: ` + kind + `, spec: {` + more + ` selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b, b: c}}, spec: {containers: [{name: a, image: "a:1"}]}}}}`
}

// TestImmutable asks a real API server which changes of which objects it refuses: the daemon deletes and creates again for these
// alone. Claims and volumes, with which data would go, are left to their users.
func TestImmutable(t *testing.T) {
	t.Parallel()
	ns := MakeNamespace(t, NewName(t, "immutable"), nil, nil)
	for _, c := range immutables {
		group, resource, isGrouped := strings.Cut(c.resource, "/")
		if !isGrouped {
			group, resource = "", c.resource
		}
		u := &unstructured.Unstructured{}
		Must(t, u.UnmarshalJSON(fromYAML(t, c.object)))
		u.SetName(ns)
		gvr := schema.GroupVersionResource{Group: group, Version: u.GroupVersionKind().Version, Resource: resource}
		client := Env.Admin.Resource(gvr).Namespace(ns)
		before, err := client.Create(t.Context(), withNamespace(u, ns), metav1.CreateOptions{})
		if apierrors.IsNotFound(err) { // it has no namespace
			client = Env.Admin.Resource(gvr)
			before, err = client.Create(t.Context(), withNamespace(u, ""), metav1.CreateOptions{})
		}
		Must(t, err)
		for _, change := range c.changes {
			after := &unstructured.Unstructured{Object: before.DeepCopy().Object}
			Must(t, render.Merge(after.Object, fromYAML(t, change)))
			_, err := client.Update(t.Context(), after, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil && !apierrors.IsInvalid(err) {
				t.Errorf("%s: %v", change, err)
			}
			if bars := render.ImmutableOf(before.Object).Bars(render.ImmutableOf(after.Object)); bars != (err != nil) {
				t.Errorf("%s, %s: deleted and created again: %v, but the API server says: %v", c.object, change, bars, err)
			}
		}
		Must(t, client.Delete(t.Context(), ns, metav1.DeleteOptions{}))
	}
}

func fromYAML(t *testing.T, text string) []byte {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	Must(t, err)
	return encoded
}

func withNamespace(u *unstructured.Unstructured, ns string) *unstructured.Unstructured {
	u.SetNamespace(ns)
	return u
}
