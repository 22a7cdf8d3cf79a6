package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/util/cert"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"
)

// canary is a value that must be seen nowhere but in its object.
type canary string

func newCanary() canary { return canary("canary" + utilrand.String(24)) }

// forms are how it may be written: as it is, and in base64. The beginnings are enough,
// for a message may be cut off.
func (c canary) forms() []string {
	return []string{string(c[:18]), base64.StdEncoding.EncodeToString([]byte(c))[:24]}
}

func (c canary) isIn(text string) bool {
	for _, form := range c.forms() {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// secretOf makes a Secret that asks for clusters and has a canary wherever it can.
func secretOf(namespace, name, clusters string, c canary) *unstructured.Unstructured {
	encoded := base64.StdEncoding.EncodeToString([]byte(c))
	u := object("v1", "Secret", namespace, name, map[string]any{
		"data": map[string]any{"key": encoded}, "stringData": map[string]any{"text": string(c)},
	})
	u.SetAnnotations(map[string]string{
		render.ClustersAnnotation:          clusters,
		"example.com/note":                 string(c),
		corev1.LastAppliedConfigAnnotation: fmt.Sprintf(`{"data":{"key":%q}}`, encoded),
	})
	return u
}

func workOfSecret(namespace, name, cluster string) types.NamespacedName {
	id := render.Identity{Kind: "Secret", Namespace: namespace, Name: name}
	return types.NamespacedName{Namespace: render.ExecutionNamespace(cluster), Name: id.WorkName()}
}

// TestSecretsAreNotTold drives Secrets into each way in which mirroring can fail, with
// servers and webhooks that repeat what they were sent, and then looks for what was in
// them in all that the daemon and its commands say.
func TestSecretsAreNotTold(t *testing.T) {
	letReadSecrets(t)
	configure(t, resources("secrets", "configmaps"))
	p := startProxy(t, env.kubeconfig)
	ns := newNamespace(t)
	t.Cleanup(func() { sweepSecrets(ns) })
	c := newCanary()
	installTalkative(t, ns)
	// While it leads by a Lease, client-go keeps to itself what else it would log.
	d := startDaemon(t, "--kubeconfig", p.Kubeconfig(), "--leader-elect=false")

	t.Run("Refusals", func(t *testing.T) { refuseSecrets(t, ns, c) })
	t.Run("Admission", func(t *testing.T) { denySecrets(t, ns, c, d) })
	t.Run("Answers", func(t *testing.T) { garbleAnswers(t, ns, c, d, p) })
	t.Run("Watches", func(t *testing.T) { garbleWatches(t, ns, c, d, p) })
	t.Run("Configuration", func(t *testing.T) { pasteSecret(t, c, d) })
	t.Run("Commands", func(t *testing.T) { askAboutSecrets(t, ns, c) })

	_, metrics, metricsErr := d.get("metrics", "/metrics")
	_, ready, readyErr := d.get("probes", "/readyz?verbose")
	list, eventsErr := env.admin.Resource(events).List(t.Context(), metav1.ListOptions{})
	if err := errors.Join(metricsErr, readyErr, eventsErr); err != nil {
		t.Fatal(err)
	}
	told, err := list.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"log": d.log(), "metrics": metrics, "probes": ready, "events": string(told)} {
		if text == "" || c.isIn(text) {
			t.Errorf("the canary is in the %s, or there is nothing (%d bytes)", where, len(text))
			for line := range strings.Lines(text) {
				if c.isIn(line) {
					t.Logf("%.2000s", line)
				}
			}
		}
	}
}

// refuseSecrets: what the daemon itself finds wrong.
func refuseSecrets(t *testing.T, ns string, c canary) {
	create(t, secrets, secretOf(ns, "invalid", "Not A Name", c))
	wantEvent(t, ns, "invalid", "InvalidAnnotation")
	create(t, secrets, secretOf(ns, "unknown", "nowhere", c))
	wantEvent(t, ns, "unknown", "UnknownCluster")

	claimed := secretOf(ns, "claimed", push, c)
	claimed.SetLabels(map[string]string{"propagationpolicy.karmada.io/permanent-id": "0"})
	create(t, secrets, claimed)
	wantEvent(t, ns, "claimed", "ClaimedByPolicy")

	// A Secret of 1 MB is kept as bytes; in a Work it is text, a third longer.
	large := secretOf(ns, "large", push, c)
	setField(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(c), 1000<<10/len(c))), "data", "large")(large)
	setAnnotation("example.com/large", strings.Repeat(string(c), 255<<10/len(c)-20))(large)
	create(t, secrets, large)
	wantEvent(t, ns, "large", "TooLarge")

	name := workOfSecret(ns, "taken", push)
	create(t, works, object("work.karmada.io/v1alpha1", "Work", name.Namespace, name.Name, map[string]any{
		"spec": map[string]any{"suspendDispatching": true, "workload": map[string]any{"manifests": []any{secretOf(ns, "taken", "", c).Object}}},
	}))
	t.Cleanup(func() {
		_ = env.admin.Resource(works).Namespace(name.Namespace).Delete(context.Background(), name.Name, metav1.DeleteOptions{})
	})
	create(t, secrets, secretOf(ns, "taken", push, c))
	wantEvent(t, ns, "taken", "WorkConflict")
}

// denySecrets: what admission has to say.
func denySecrets(t *testing.T, ns string, c canary, d *daemon) {
	create(t, secrets, secretOf(ns, "denied", push, c))
	wantEvent(t, ns, "denied", "RenderFailed", talkative)
	create(t, secrets, secretOf(ns, "policed", push, c))
	wantEvent(t, ns, "policed", "RenderFailed", "ValidatingAdmissionPolicy '"+talkative+"'")
	create(t, secrets, secretOf(ns, "mutated", push, c))
	eventually(t, "the mutation to be noticed", func(context.Context) error {
		if d.logged("admission alters what is written: leaving it at that") == 0 {
			return errors.New("nothing is said")
		}
		return nil
	})
}

// garbleAnswers: writes that fail, and say with what they were sent.
func garbleAnswers(t *testing.T, ns string, c canary, d *daemon, p *fault.Proxy) {
	echo := func(code int, contentType string) fault.Fault {
		return func(w http.ResponseWriter, r *http.Request, _ http.Handler, _ <-chan struct{}) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(code)
			_, _ = w.Write(body)
		}
	}
	conflict := fault.Refuse(apierrors.NewConflict(works.GroupResource(), "x", errors.New("you sent "+string(c))))
	for name, f := range map[string]fault.Fault{
		"text": echo(http.StatusInternalServerError, "text/plain"), "json": echo(http.StatusBadGateway, "application/json"),
		"created": echo(http.StatusCreated, "text/plain"), "conflict": conflict,
		"internal":  fault.Refuse(apierrors.NewInternalError(errors.New("you sent " + string(c)))),
		"throttled": fault.Refuse(apierrors.NewTooManyRequests("you sent "+string(c), 1)),
	} {
		rule := p.Inject(fault.Match{Verb: "create", Resource: "works"}, f)
		create(t, secrets, secretOf(ns, name, push, c))
		eventually(t, "the answer "+name, func(context.Context) error {
			if rule.Hits() == 0 {
				return errors.New("nothing was written")
			}
			return nil
		})
		rule.Remove()
		mustWork(t, workOfSecret(ns, name, push))
	}
	if d.logged("sync failed, trying again") == 0 {
		t.Error("no failure is logged: nothing was tried")
	}
}

// garbleWatches: events that are none, or hold what they should not.
func garbleWatches(t *testing.T, ns string, c canary, d *daemon, p *fault.Proxy) {
	secret, err := secretOf(ns, "garbled", push, c).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	status, err := json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Code: 500, Message: "you watch " + string(c)})
	if err != nil {
		t.Fatal(err)
	}
	frames := map[string]string{
		"AnObjectForAnError": fmt.Sprintf(`{"type":"ERROR","object":%s}`, secret),
		"AStatus":            fmt.Sprintf(`{"type":"ERROR","object":%s}`, status),
		"AString":            fmt.Sprintf(`{"type":"ADDED","object":%q}`, c),
		"NoKind":             fmt.Sprintf(`{"type":"ADDED","object":{"data":%q}}`, c),
		"AnUnknownType":      fmt.Sprintf(`{"type":%q,"object":%s}`, c, secret),
		"NoJSON":             string(c),
		"OddMetadata":        fmt.Sprintf(`{"type":"ADDED","object":{"apiVersion":"v1","kind":"Secret","metadata":%q}}`, c),
	}
	for name, frame := range frames {
		// A watch that begins anew has no backoff behind it.
		setConfiguration(t, resources("configmaps"))
		eventually(t, "the watch to go", func(context.Context) error {
			if _, err := d.metric(`karmada_mirror_watch_state{resource="secrets",state="ready"}`); err == nil {
				return errors.New("it is still there")
			}
			return nil
		})
		rule := p.Inject(fault.Match{Verb: "watch", Resource: "secrets"}, func(w http.ResponseWriter, _ *http.Request, _ http.Handler, _ <-chan struct{}) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, frame+"\n")
		})
		setConfiguration(t, resources("secrets", "configmaps"))
		eventually(t, name, func(context.Context) error {
			if rule.Hits() < 2 { // what the first one brought has been read
				return errors.New("nothing was watched")
			}
			return nil
		})
		// While there is no watch, anybody may ask why.
		if _, body, err := d.get("probes", "/readyz?verbose"); err != nil || c.isIn(body) {
			t.Errorf("%s: /readyz says %q, %v", name, body, err)
		}
		rule.Remove()
	}
	after := secretOf(ns, "after", push, c)
	create(t, secrets, after)
	mustWork(t, workOfSecret(ns, "after", push))
}

// pasteSecret: what somebody takes for a configuration.
func pasteSecret(t *testing.T, c canary, d *daemon) {
	text, err := secretOf("default", "pasted", push, c).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	const rejected = "configuration rejected, the last good one stays in force"
	for _, pasted := range []string{string(text), string(c), "resources: " + string(c), "password: [" + string(c)} {
		before := d.logged(rejected)
		previous := setConfiguration(t, pasted)
		eventually(t, "the rejection", func(context.Context) error {
			if d.logged(rejected) == before {
				return errors.New("nothing is said")
			}
			return nil
		})
		setConfiguration(t, previous)
	}
	wantEvent(t, system, account, "InvalidConfiguration")
}

// askAboutSecrets: explain, diff and deletions.
func askAboutSecrets(t *testing.T, ns string, c canary) {
	say := func(output string) {
		t.Helper()
		if output == "" || c.isIn(output) {
			t.Errorf("the canary is told, or nothing is:\n%.2000s", output)
		}
	}
	for _, name := range []string{"invalid", "unknown", "claimed", "large", "taken", "denied", "policed", "mutated", "text"} {
		say(mustKarmadaMirror(t, "explain", "secret", name, "-n", ns))
	}
	say(mustKarmadaMirror(t, "deletions", "list"))

	u, err := env.admin.Resource(secrets).Namespace(ns).Get(t.Context(), "text", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	setField("b3RoZXI=", "data", "key")(u)
	setAnnotation(render.ClustersAnnotation, push+","+push2)(u)
	u.SetAnnotations(map[string]string{render.ClustersAnnotation: u.GetAnnotations()[render.ClustersAnnotation]})
	output, code := diff(t, "-f", write(t, u))
	for _, line := range []string{"*** (before)", "*** (after)", "key: '***'", "text: '***'"} {
		if !strings.Contains(output, line) {
			t.Errorf("%q is not in the difference", line)
		}
	}
	if code != 1 || strings.Contains(output, "b3RoZXI=") || c.forms()[1] != "" && strings.Contains(output, c.forms()[1]) {
		t.Errorf("exit code %d:\n%s", code, output)
	}
}

func sweepSecrets(namespace string) {
	_ = env.admin.Resource(secrets).Namespace(namespace).DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{})
	list, err := env.admin.Resource(works).List(context.Background(), metav1.ListOptions{LabelSelector: render.ManagedByLabel})
	if err != nil {
		return
	}
	for _, w := range list.Items {
		if sourceNamespace(&w) == namespace {
			_ = env.admin.Resource(works).Namespace(w.GetNamespace()).Delete(context.Background(), w.GetName(), metav1.DeleteOptions{})
		}
	}
}

// talkative names a webhook and a policy that repeat what they are shown.
const talkative = "talkative.test.example"

// installTalkative has admission deny some Works of a namespace, mutate one, and warn of
// all, each time with the Work in the message.
func installTalkative(t *testing.T, ns string) {
	t.Helper()
	url, authority := startTalkative(t)
	webhooks := env.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err := webhooks.Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: talkative},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    talkative,
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: authority},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			MatchConditions:         []admissionregistrationv1.MatchCondition{{Name: "daemon", Expression: "request.userInfo.username.endsWith(':" + account + "')"}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"work.karmada.io"}, APIVersions: []string{"*"}, Resources: []string{"works"}},
			}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = webhooks.Delete(context.Background(), talkative, metav1.DeleteOptions{}) })
	denyWorks(t, talkative, "CREATE",
		fmt.Sprintf(`object.spec.workload.manifests.exists(m, m.kind == "Secret" && m.metadata.namespace == "%s" && m.metadata.name == "policed")`, ns),
		`messageExpression: "'this is it: ' + object.spec.workload.manifests[0].data.key"`)
	awaitPolicy(t, ns)
}

// awaitPolicy waits until the policy denies, with what it is shown in its message.
func awaitPolicy(t *testing.T, ns string) {
	t.Helper()
	c := newCanary()
	probe := object("work.karmada.io/v1alpha1", "Work", render.ExecutionNamespace(push), "probe", map[string]any{
		"spec": map[string]any{"workload": map[string]any{"manifests": []any{secretOf(ns, "policed", "", c).Object}}}})
	eventually(t, "the policy to be in force", func(ctx context.Context) error {
		_, err := env.admin.Resource(works).Namespace(probe.GetNamespace()).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !c.isIn(err.Error()) {
			return fmt.Errorf("it does not tell what it is shown: %v", err)
		}
		return nil
	})
}

// startTalkative serves the webhook.
func startTalkative(t *testing.T) (url string, authority []byte) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.ParseIP("127.0.0.1")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = talk(review.Request)
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review) // an API server that has gone has gone
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, certificate
}

// talk repeats the Work in every word of its answer that it may choose.
func talk(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	content := string(request.Object.Raw)
	response := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true, Warnings: []string{content[:min(len(content), 240)], valueIn(content)}}
	switch {
	case strings.Contains(content, `"name":"mutated"`):
		jsonPatch := admissionv1.PatchTypeJSONPatch
		response.PatchType, response.Patch = &jsonPatch, []byte(`[{"op":"add","path":"/spec/workload/manifests/0/metadata/annotations/meddled","value":"yes"}]`)
	case strings.Contains(content, `"name":"denied"`):
		response.Allowed = false
		response.Result = &metav1.Status{
			Code: http.StatusUnprocessableEntity, Message: "this is it: " + content, Reason: metav1.StatusReason(valueIn(content)),
			Details: &metav1.StatusDetails{Kind: valueIn(content), Group: valueIn(content), Causes: []metav1.StatusCause{{Field: valueIn(content), Message: content}}},
		}
	}
	return response
}

// valueIn is what stands behind the first key of a Secret.
func valueIn(content string) string {
	_, rest, _ := strings.Cut(content, `"key":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
