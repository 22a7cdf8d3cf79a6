package shared

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestDeletesDenied has a policy deny the daemon all deletions of Works.
func TestDeletesDenied(t *testing.T) {
	ns := Isolate(t)
	StartDaemon(t)
	ids := CreatePages(t, ns, Both, 12)
	WantSources(t, ns)
	f := NewFault(t, "All deletions of Works denied by an admission policy, later lifted", ns)
	lift := denyWorks(t, "deny-deletions", "DELETE", fmt.Sprintf(`request.userInfo.username == "%s"`, User(t)), `message: no deletions today`)
	client := AsDaemon(t)
	probe := ConfigMapWork(ns, ids[3].Name, Push)
	Eventually(t, "the policy to be in force", func(ctx context.Context) error {
		err := client.Resource(Works).Namespace(probe.Namespace).Delete(ctx, probe.Name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "no deletions today") {
			return fmt.Errorf("a deletion is not denied: %v", err)
		}
		return nil
	})
	audit := AuditFromNow(t)
	Workload(t, f, ns, ids)
	const due = 2 * 3 * 2 // of every four sources, one is retargeted and one deleted, on two clusters each
	Eventually(t, "every deletion to be denied, and everything else to be done", func(ctx context.Context) error {
		denied := map[string]bool{}
		for _, r := range audit.Requests(t) {
			if r.Verb == "delete" && r.ObjectRef.Resource == "works" && !r.Succeeded() {
				denied[r.ObjectRef.Namespace+"/"+r.ObjectRef.Name] = true
			}
		}
		var wrong *LostWorks
		err := Disagreement(ctx, ns, ConfigMaps)
		if len(denied) < due || !errors.As(err, &wrong) || len(wrong.Surplus) != due || wrong.Count() != due {
			return fmt.Errorf("%d are denied: %v", len(denied), err)
		}
		return nil
	})
	if err := lift(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Heal()
	f.Converge(Patience)
}

// denyWorks has a policy deny an operation on the Works that match a condition in CEL.
// says is a field of its validation: the message. The policy is lifted by calling lift, or
// at the test's end.
func denyWorks(t *testing.T, name, operation, condition, says string) (lift func(context.Context) error) {
	t.Helper()
	return deny(t, Env.Config(), name, fmt.Sprintf("{apiGroups: [work.karmada.io], apiVersions: ['*'], operations: [%s], resources: [works]}", operation), condition, says)
}

// deny has a policy of an API server deny the requests that a rule and a condition match.
func deny(t *testing.T, on *rest.Config, name, rule, condition, says string) (lift func(context.Context) error) {
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
	lift = func(ctx context.Context) error {
		admission := kubernetes.NewForConfigOrDie(on).AdmissionregistrationV1()
		return errors.Join(
			admission.ValidatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{}),
			admission.ValidatingAdmissionPolicies().Delete(ctx, name, metav1.DeleteOptions{}))
	}
	t.Cleanup(func() { _ = lift(context.Background()) })
	if err := karmada.Apply(t.Context(), on, []byte(policy)); err != nil {
		t.Fatal(err)
	}
	return lift
}

// TestMemberAdmission: a workload may name any ServiceAccount of its namespace, and only
// the member's own admission can stop it. The Work's status has the member's message.
func TestMemberAdmission(t *testing.T) {
	const account = "cluster-autoscaler"
	ns := Isolate(t)
	Configure(t, Resources(t, "deployments.apps"))
	StartDaemon(t)
	deny(t, Env.MemberConfig(Push), "deny-account-"+ns, "{apiGroups: [apps], apiVersions: ['*'], operations: [CREATE, UPDATE], resources: [deployments]}",
		fmt.Sprintf(`object.metadata.namespace == "%s" && object.spec.template.spec.?serviceAccountName.orValue("") == "%s"`, ns, account),
		"message: tenants have no use for this account")
	Settle(t) // the API server checks for new policies once a second
	u := deployment(ns, 1)
	SetField(account, "spec", "template", "spec", "serviceAccountName")(u)
	u.SetAnnotations(annotations{render.ClustersAnnotation: Push + "," + Push2})
	Create(t, Deployments, u)
	Eventually(t, "the Deployment in the member that admits it", func(ctx context.Context) error {
		there, err := Env.Member(Push2).Resource(Deployments).Namespace(ns).Get(ctx, u.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedString(there.Object, "spec", "template", "spec", "serviceAccountName"); got != account {
			return fmt.Errorf("its account is %q", got)
		}
		return nil
	})
	Eventually(t, "the member's message", func(ctx context.Context) error {
		w, err := GetWork(ctx, types.NamespacedName{Namespace: render.ExecutionNamespace(Push), Name: deploymentIdentity(ns).WorkName()})
		if err != nil {
			return err
		}
		if text, err := json.Marshal(w.Object["status"]); !strings.Contains(string(text), "tenants have no use for this account") {
			return errors.Join(err, fmt.Errorf("the Work says %s", text))
		}
		return nil
	})
	WantLine(t, MustKarmadaMirror(t, "status", "deploy", u.GetName(), "-n", ns), Push+" .*False .*is forbidden")
	if _, err := Env.Member(Push).Resource(Deployments).Namespace(ns).Get(t.Context(), u.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("in %s: %v", Push, err)
	}
}

// TestMutatingWebhook runs a webhook that changes the manifest of every Work.
func TestMutatingWebhook(t *testing.T) {
	ns := Isolate(t)
	d := StartDaemon(t)
	const sources = 5
	f := NewFault(t, "A mutating webhook edits every Work", ns)
	f.Note = "logged once per Work, not retried; in sync when the source changes after the webhook is deleted"
	const name = "meddler.test.example"
	uninstall := installWebhook(t, name, meddle)
	asDaemon := AsDaemon(t)
	Eventually(t, "the webhook to be called", func(ctx context.Context) error {
		probe := Object("work.karmada.io/v1alpha1", "Work", render.ExecutionNamespace(Push), "probe", map[string]any{
			"spec": map[string]any{"workload": map[string]any{"manifests": []any{ConfigMap(ns, "probe", "", "").Object}}}})
		created, err := asDaemon.Resource(Works).Namespace(probe.GetNamespace()).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err
		}
		if text, err := created.MarshalJSON(); err != nil || !bytes.Contains(text, []byte("meddled")) {
			return fmt.Errorf("it was not: %v", err)
		}
		return nil
	})
	Configure(t, Resources(t, "configmaps"))
	audit := AuditFromNow(t)
	CreatePages(t, ns, Both, sources)
	const said = "admission alters the Work that is written: not writing it again"
	Eventually(t, "it to be logged once per Work", func(context.Context) error {
		if got := d.Logged(said); got != 2*sources {
			return fmt.Errorf("it was logged %d times", got)
		}
		return nil
	})
	for i := range 20 { // anything that triggers a sync
		Change(t, ConfigMaps, Home(t), Account, SetAnnotation("round", fmt.Sprint(i)))
		SetConfiguration(t, Resources(t, "configmaps")+fmt.Sprintf("# %d\n", i))
	}
	Eventually(t, "the queue to be empty", d.WantMetric(QueueEmpty, 0))
	for what, count := range audit.Writes(t) {
		if what != "create works" || count != 2*sources {
			t.Errorf("with the webhook, %d %s", count, what)
		}
	}
	if got := d.Logged(said); got != 2*sources {
		t.Errorf("it was logged %d times", got)
	}
	if err := uninstall(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Heal()
	Eventually(t, "the webhook to be gone", func(ctx context.Context) error {
		for i := range sources {
			Change(t, ConfigMaps, ns, fmt.Sprintf("page-%d", i), SetField(fmt.Sprint(time.Now().UnixNano()), "data", "key"))
		}
		Pass(t, time.Second)
		return Disagreement(ctx, ns, ConfigMaps)
	})
	f.Converge(Patience)
}

// meddle adds an annotation to the manifest of a Work.
func meddle(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	jsonPatch := admissionv1.PatchTypeJSONPatch
	return &admissionv1.AdmissionResponse{
		UID: request.UID, Allowed: true, PatchType: &jsonPatch,
		Patch: []byte(`[{"op":"add","path":"/spec/workload/manifests/0/metadata/annotations/meddled","value":"yes"}]`),
	}
}

// installWebhook has a webhook review the test's daemon's writes of Works.
func installWebhook(t *testing.T, name string, answer func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) (uninstall func(context.Context) error) {
	t.Helper()
	url, authority := serveWebhook(t, answer)
	webhooks := Env.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err := webhooks.Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    name,
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: authority},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			MatchConditions:         []admissionregistrationv1.MatchCondition{{Name: "daemon", Expression: fmt.Sprintf("request.userInfo.username == %q", User(t))}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"work.karmada.io"}, APIVersions: []string{"*"}, Resources: []string{"works"}},
			}},
		}},
	}, metav1.CreateOptions{})
	Must(t, err)
	uninstall = func(ctx context.Context) error { return webhooks.Delete(ctx, name, metav1.DeleteOptions{}) }
	t.Cleanup(func() { _ = uninstall(context.Background()) })
	return uninstall
}

// serveWebhook serves a webhook with these answers.
func serveWebhook(t *testing.T, answer func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) (url string, authority []byte) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.ParseIP("127.0.0.1")}, nil)
	Must(t, err)
	pair, err := tls.X509KeyPair(certificate, key)
	Must(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response, review.Request = answer(review.Request), nil
		_ = json.NewEncoder(w).Encode(review) // the API server may be gone
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, certificate
}
