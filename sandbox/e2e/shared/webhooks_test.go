package shared

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/util/cert"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// altered is logged once for each Work that comes back otherwise than it was written.
const altered = "admission alters the Work that is written: not writing it again"

// TestWebhooks has webhooks and a policy alter and deny Works, and repeat what they were sent
// in every field that they can. The daemon does not fight them, and neither it nor its
// commands repeat an object's content.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	ns, canary := NewNamespace(t), "canary"+utilrand.String(24)
	installWebhook(t, ns)
	deny(t, Env.Config(), ns, "{apiGroups: [work.karmada.io], apiVersions: ['*'], operations: [CREATE], resources: [works]}",
		fmt.Sprintf(`object.spec.workload.manifests.exists(m, m.metadata.name == "policed" && m.metadata.namespace == "%s")`, ns),
		`messageExpression: "'this is it: ' + object.spec.workload.manifests[0].data.key"`)
	probe := Object("work.karmada.io/v1alpha1", "Work", render.ExecutionNamespace(Push), "probe-"+ns, map[string]any{
		"spec": map[string]any{"workload": map[string]any{"manifests": []any{}}}})
	for name, says := range map[string]string{"policed": "this is it: probe", "denied": "this is it: "} {
		SetField([]any{Plain(ns, name, "probe").Object}, "spec", "workload", "manifests")(probe)
		Eventually(t, "the admission of "+name+" to be in force", func(ctx context.Context) error {
			_, err := Env.Admin.Resource(Works).Namespace(probe.GetNamespace()).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil || !strings.Contains(err.Error(), says) {
				return fmt.Errorf("it does not repeat what it is sent: %v", err)
			}
			return nil
		})
	}
	before, audit := Env.Mirror.Logged(altered), AuditFromNow(t)
	Create(t, ConfigMaps, ConfigMap(ns, "mutated", Push, canary))
	Eventually(t, "the mutation to be noticed", Env.Mirror.WantLogged(altered, before+1))
	Create(t, ConfigMaps, ConfigMap(ns, "denied", Push, canary))
	WantEvent(t, ns, "denied", "RenderFailed", webhook(ns))
	Create(t, ConfigMaps, ConfigMap(ns, "policed", Push, canary))
	WantEvent(t, ns, "policed", "RenderFailed", "ValidatingAdmissionPolicy '"+ns+"'")

	Settle(t) // it sweeps every 3 s
	if writes := audit.WorkWrites(t, ConfigMapWork(ns, "mutated", Push).Name); len(writes) != 1 || Env.Mirror.Logged(altered) != before+1 {
		t.Errorf("the Work that is mutated was written %d times, and this was logged %d times", len(writes), Env.Mirror.Logged(altered)-before)
	}
	_, metrics, err := Env.Mirror.Get(t.Context(), "metrics", "/metrics")
	Must(t, err)
	told := map[string]string{"the log": Env.Mirror.Log(), "the metrics": metrics, "the Events": Kubectl(t, "get", "events", "-n", ns, "-o", "yaml")}
	for _, name := range []string{"mutated", "denied", "policed"} {
		told["explain "+name] = MustKarmadaMirror(t, "explain", "cm", name, "-n", ns)
	}
	for where, text := range told {
		if text == "" || strings.Contains(text, canary[:18]) {
			t.Errorf("an object's content is in %s, or that is empty (%d bytes)", where, len(text))
		}
	}
}

// webhook is the name of a webhook.
func webhook(ns string) string { return ns + ".test.example" }

// installWebhook has a webhook review the Works of a namespace's objects.
func installWebhook(t *testing.T, ns string) {
	t.Helper()
	url, authority := serveWebhook(t)
	webhooks := Env.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err := webhooks.Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: webhook(ns)},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    webhook(ns),
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: authority},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			MatchConditions:         []admissionregistrationv1.MatchCondition{{Name: "ours", Expression: fmt.Sprintf("object.spec.workload.manifests.exists(m, m.metadata.?namespace.orValue('') == %q)", ns)}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"work.karmada.io"}, APIVersions: []string{"*"}, Resources: []string{"works"}},
			}},
		}},
	}, metav1.CreateOptions{})
	Must(t, err)
	t.Cleanup(func() { _ = webhooks.Delete(context.Background(), webhook(ns), metav1.DeleteOptions{}) })
}

// serveWebhook serves a webhook.
func serveWebhook(t *testing.T) (url string, authority []byte) {
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

// answer repeats the Work in every field of the response that it can. It denies or alters some.
func answer(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	content := string(request.Object.Raw)
	_, rest, _ := strings.Cut(content, `"key":"`)
	value, _, _ := strings.Cut(rest, `"`)
	response := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true, Warnings: []string{content[:min(len(content), 240)], value}}
	switch {
	case strings.Contains(content, `"name":"mutated"`):
		jsonPatch := admissionv1.PatchTypeJSONPatch
		response.PatchType, response.Patch = &jsonPatch, []byte(`[{"op":"add","path":"/spec/workload/manifests/0/metadata/annotations/meddled","value":"yes"}]`)
	case strings.Contains(content, `"name":"denied"`):
		response.Allowed = false
		response.Result = &metav1.Status{
			Code: http.StatusUnprocessableEntity, Message: "this is it: " + content, Reason: metav1.StatusReason(value),
			Details: &metav1.StatusDetails{Kind: value, Group: value, Causes: []metav1.StatusCause{{Field: value, Message: content}}},
		}
	}
	return response
}
