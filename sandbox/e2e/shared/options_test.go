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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// TestOptions checks in the members what Karmada makes of the options.
func TestOptions(t *testing.T) {
	t.Parallel()
	ns := NewNamespace(t)
	t.Run("Suspended", func(t *testing.T) {
		Create(t, ConfigMaps, ConfigMap(ns, "suspended", Both, "one"))
		WantInMembers(t, ns, "suspended", "one", Push, Pull)
		Change(t, ConfigMaps, ns, "suspended", func(u *unstructured.Unstructured) {
			SetAnnotation(render.SuspendAnnotation, "*,!"+Push)(u)
			SetField("two", "data", "key")(u)
		})
		WantInMembers(t, ns, "suspended", "two", Push)
		Settle(t)
		WantInMembers(t, ns, "suspended", "one", Pull)
		Change(t, ConfigMaps, ns, "suspended", SetAnnotation(render.SuspendAnnotation, "false"))
		WantInMembers(t, ns, "suspended", "two", Pull)
	})
	t.Run("Preserved", func(t *testing.T) {
		for _, pair := range [][2]string{{Push, Pull}, {Pull, Push}} {
			left, stays := pair[0], pair[1]
			name := "preserved-" + left
			Create(t, ConfigMaps, ConfigMap(ns, name, Both, "one"))
			WantInMembers(t, ns, name, "one", Push, Pull)
			before := MemberUID(t, ns, name, left)
			Change(t, ConfigMaps, ns, name, func(u *unstructured.Unstructured) { // in one edit, as GitOps does
				SetAnnotation(render.ClustersAnnotation, stays)(u)
				SetAnnotation(render.PreserveOnDeletionAnnotation, "true")(u)
			})
			work := ConfigMapWork(ns, name, left)
			WantNone(t, Works, work.Namespace, work.Name)
			Settle(t)
			if now := MemberUID(t, ns, name, left); now != before {
				t.Errorf("the object in %s was deleted or recreated", left)
			}
		}
	})
	t.Run("Conflict", func(t *testing.T) {
		_, err := Env.Member(Push).Resource(ConfigMaps).Namespace(ns).Create(t.Context(), Plain(ns, "taken", "theirs"), metav1.CreateOptions{})
		Must(t, err)
		Create(t, ConfigMaps, ConfigMap(ns, "taken", Push, "ours"))
		Eventually(t, "Karmada to refuse", func(context.Context) error {
			if output := MustKarmadaMirror(t, "explain", "cm/taken", "-n", ns); !strings.Contains(output, "failed") || !strings.Contains(output, render.ConflictResolutionAnnotation) {
				return errors.New(output)
			}
			return nil
		})
		WantInMembers(t, ns, "taken", "theirs", Push)
		Change(t, ConfigMaps, ns, "taken", SetAnnotation(render.ConflictResolutionAnnotation, "overwrite")) // as explain says
		WantInMembers(t, ns, "taken", "ours", Push)
	})
	t.Run("MemberAdmission", func(t *testing.T) { deniedByMember(t, ns) })
}

// deniedByMember: a workload may name any ServiceAccount of its namespace, and only the
// member's own admission can stop it. The Work's status has the member's message.
func deniedByMember(t *testing.T, ns string) {
	const account = "cluster-autoscaler"
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
