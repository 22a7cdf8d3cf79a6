package shared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// TestDeniedByPolicy has a policy of the control plane deny a Work, and repeat what is in it: neither the
// daemon nor its commands repeat that.
func TestDeniedByPolicy(t *testing.T) {
	t.Parallel()
	ns, canary := NewNamespace(t), "canary"+utilrand.String(24)
	deny(t, Env.Config(), ns, "{apiGroups: [work.karmada.io], apiVersions: ['*'], operations: [CREATE], resources: [works]}",
		fmt.Sprintf(`object.spec.workload.manifests.exists(m, m.metadata.name == "page" && m.metadata.namespace == "%s")`, ns),
		`messageExpression: "'this is it: ' + object.spec.workload.manifests[0].data.key"`)
	probe := Object("work.karmada.io/v1alpha1", "Work", render.ExecutionNamespace(Push), "probe-"+ns, map[string]any{
		"spec": map[string]any{"workload": map[string]any{"manifests": []any{Plain(ns, "page", "probe").Object}}}})
	Eventually(t, "the policy to be in force", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(Works).Namespace(probe.GetNamespace()).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "this is it: probe") {
			return fmt.Errorf("it does not repeat what it is sent: %v", err)
		}
		return nil
	})
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push, canary))
	WantEvent(t, ns, "page", "RenderFailed", "ValidatingAdmissionPolicy '"+ns+"'")
	_, metrics, err := Env.Mirror.Get(t.Context(), "metrics", "/metrics")
	Must(t, err)
	for where, text := range map[string]string{
		"the log": Env.Mirror.Log(), "the metrics": metrics, "the Events": Kubectl(t, "get", "events", "-n", ns, "-o", "yaml"),
		"explain": MustKarmadaMirror(t, "explain", "cm", "page", "-n", ns),
	} {
		if text == "" || strings.Contains(text, canary) {
			t.Errorf("an object's content is in %s, or that is empty (%d bytes)", where, len(text))
		}
	}
}

// TestDeniedByMember: a workload may name any ServiceAccount of its namespace, and only the
// member's own admission can stop it. The Work's status has the member's message.
func TestDeniedByMember(t *testing.T) {
	t.Parallel()
	const account = "cluster-autoscaler"
	ns := NewNamespace(t)
	deny(t, Env.MemberConfig(Push), "deny-account-"+ns, "{apiGroups: [apps], apiVersions: ['*'], operations: [CREATE, UPDATE], resources: [deployments]}",
		fmt.Sprintf(`object.metadata.namespace == "%s" && object.spec.template.spec.?serviceAccountName.orValue("") == "%s"`, ns, account),
		"message: tenants have no use for this account")
	u := Asking(Deployment(ns, "web", "nginx:1", 1), Both)
	SetField(account, "spec", "template", "spec", "serviceAccountName")(u)
	Eventually(t, "the member's policy to be in force", func(ctx context.Context) error {
		_, err := Env.Member(Push).Resource(Deployments).Namespace(ns).Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsInvalid(err) {
			return fmt.Errorf("it is not: %v", err)
		}
		return nil
	})
	Create(t, Deployments, u)
	Eventually(t, "the Deployment in the member that admits it", InMember(Pull, Deployments, ns, "web", account, "spec", "template", "spec", "serviceAccountName"))
	Eventually(t, "the member's message", func(ctx context.Context) error {
		w, err := GetWork(ctx, WorkOf(deployment(ns, "web"), Push))
		if err != nil {
			return err
		}
		if text, err := json.Marshal(w.Object["status"]); !strings.Contains(string(text), "tenants have no use for this account") {
			return errors.Join(err, fmt.Errorf("the Work says %s", text))
		}
		return nil
	})
	WantLine(t, MustKarmadaMirror(t, "status", "deploy", "web", "-n", ns), Push+" .*False .*is forbidden")
	WantGone(t, Deployments, ns, "web", Push)
}

func deployment(ns, name string) render.Identity {
	return render.Identity{Group: "apps", Kind: "Deployment", Namespace: ns, Name: name}
}

// deny has a policy of an API server deny the requests that a rule and a condition in CEL
// match. says is a field of its validation: the message.
func deny(t *testing.T, on *rest.Config, name, rule, condition, says string) {
	t.Helper()
	policy := fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - %[2]s
  matchConditions:
  - {name: meant, expression: '%[3]s'}
  validations:
  - expression: "false"
    %[4]s
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, name, rule, condition, says)
	t.Cleanup(func() {
		ctx, admission := context.Background(), kubernetes.NewForConfigOrDie(on).AdmissionregistrationV1()
		_ = admission.ValidatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{})
		_ = admission.ValidatingAdmissionPolicies().Delete(ctx, name, metav1.DeleteOptions{})
	})
	Must(t, karmada.Apply(t.Context(), on, []byte(policy)))
}
