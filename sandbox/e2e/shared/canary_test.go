package shared

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestSecretsAreNotTold makes mirroring of Secrets fail in every possible way, with
// servers and webhooks that repeat what they were sent. It then looks for the contents of
// the Secrets in everything that the daemon and its commands print.
func TestSecretsAreNotTold(t *testing.T) {
	ns := Isolate(t)
	LetReadSecrets(t)
	Configure(t, Resources(t, "secrets", "configmaps"))
	p := StartProxy(t)
	c := NewCanary()
	installTalkative(t, ns)
	// With leader election, client-go would not log some of its messages.
	d := StartDaemon(t, "--kubeconfig", p.Kubeconfig(), "--leader-elect=false")

	t.Run("Refusals", func(t *testing.T) { refuseSecrets(t, ns, c) })
	t.Run("Admission", func(t *testing.T) { denySecrets(t, ns, c, d) })
	t.Run("Answers", func(t *testing.T) { garbleAnswers(t, ns, c, d, p) })
	t.Run("Watches", func(t *testing.T) { garbleWatches(t, ns, c, d, p) })
	t.Run("Configuration", func(t *testing.T) { pasteSecret(t, c, d) })
	t.Run("Commands", func(t *testing.T) { askAboutSecrets(t, ns, c) })

	_, metrics, metricsErr := d.Get(t.Context(), "metrics", "/metrics")
	_, ready, readyErr := d.Get(t.Context(), "probes", "/readyz?verbose")
	list, eventsErr := Env.Admin.Resource(Events).List(t.Context(), metav1.ListOptions{})
	if err := errors.Join(metricsErr, readyErr, eventsErr); err != nil {
		t.Fatal(err)
	}
	told, err := list.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"log": d.Log(), "metrics": metrics, "probes": ready, "events": string(told)} {
		if text == "" || c.IsIn(text) {
			t.Errorf("the canary is in the %s, or that is empty (%d bytes)", where, len(text))
			for line := range strings.Lines(text) {
				if c.IsIn(line) {
					t.Logf("%.2000s", line)
				}
			}
		}
	}
}

// refuseSecrets makes the mistakes that the daemon itself finds.
func refuseSecrets(t *testing.T, ns string, c Canary) {
	Create(t, Secrets, SecretOf(ns, "invalid", "Not A Name", c))
	WantEvent(t, ns, "invalid", "InvalidAnnotation")
	Create(t, Secrets, SecretOf(ns, "unknown", "nowhere", c))
	WantEvent(t, ns, "unknown", "UnknownCluster")

	claimed := SecretOf(ns, "claimed", Push, c)
	claimed.SetLabels(map[string]string{"propagationpolicy.karmada.io/permanent-id": "0"})
	Create(t, Secrets, claimed)
	WantEvent(t, ns, "claimed", "ClaimedByPolicy")

	// A Secret of 1 MB is stored as bytes; in a Work it is base64, a third longer.
	large := SecretOf(ns, "large", Push, c)
	SetField(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(c), 1000<<10/len(c))), "data", "large")(large)
	SetAnnotation("example.com/large", strings.Repeat(string(c), 255<<10/len(c)-20))(large)
	Create(t, Secrets, large)
	WantEvent(t, ns, "large", "TooLarge")

	name := WorkOfSecret(ns, "taken", Push)
	Create(t, Works, Object("work.karmada.io/v1alpha1", "Work", name.Namespace, name.Name, map[string]any{
		"spec": map[string]any{"suspendDispatching": true, "workload": map[string]any{"manifests": []any{SecretOf(ns, "taken", "", c).Object}}},
	}))
	t.Cleanup(func() {
		_ = Env.Admin.Resource(Works).Namespace(name.Namespace).Delete(context.Background(), name.Name, metav1.DeleteOptions{})
	})
	Create(t, Secrets, SecretOf(ns, "taken", Push, c))
	WantEvent(t, ns, "taken", "WorkConflict")
}

// denySecrets has admission deny or change the Works.
func denySecrets(t *testing.T, ns string, c Canary, d *Daemon) {
	Create(t, Secrets, SecretOf(ns, "denied", Push, c))
	WantEvent(t, ns, "denied", "RenderFailed", talkative)
	Create(t, Secrets, SecretOf(ns, "policed", Push, c))
	WantEvent(t, ns, "policed", "RenderFailed", "ValidatingAdmissionPolicy '"+talkative+"'")
	Create(t, Secrets, SecretOf(ns, "mutated", Push, c))
	Eventually(t, "the mutation to be noticed", func(context.Context) error {
		if d.Logged("admission alters the Work that is written: not writing it again") == 0 {
			return errors.New("nothing is logged")
		}
		return nil
	})
}

// garbleAnswers has writes fail with responses that repeat the request.
func garbleAnswers(t *testing.T, ns string, c Canary, d *Daemon, p *fault.Proxy) {
	echo := func(code int, contentType string) fault.Fault {
		return func(w http.ResponseWriter, r *http.Request, _ http.Handler, _ <-chan struct{}) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(code)
			_, _ = w.Write(body)
		}
	}
	conflict := fault.Refuse(apierrors.NewConflict(Works.GroupResource(), "x", errors.New("you sent "+string(c))))
	for name, f := range map[string]fault.Fault{
		"text": echo(http.StatusInternalServerError, "text/plain"), "json": echo(http.StatusBadGateway, "application/json"),
		"created": echo(http.StatusCreated, "text/plain"), "conflict": conflict,
		"internal":  fault.Refuse(apierrors.NewInternalError(errors.New("you sent " + string(c)))),
		"throttled": fault.Refuse(apierrors.NewTooManyRequests("you sent "+string(c), 1)),
	} {
		rule := p.Inject(fault.Match{Verb: "create", Resource: "works"}, f)
		Create(t, Secrets, SecretOf(ns, name, Push, c))
		Eventually(t, "the response "+name, func(context.Context) error {
			if rule.Hits() == 0 {
				return errors.New("nothing was written")
			}
			return nil
		})
		rule.Remove()
		MustWork(t, WorkOfSecret(ns, name, Push))
	}
	if d.Logged("sync failed, retrying") == 0 {
		t.Error("no failure is logged: nothing was tried")
	}
}

// garbleWatches sends watch events that are invalid, or contain the wrong thing.
func garbleWatches(t *testing.T, ns string, c Canary, d *Daemon, p *fault.Proxy) {
	secret, err := SecretOf(ns, "garbled", Push, c).MarshalJSON()
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
		// A new watch has no backoff.
		SetConfiguration(t, Resources(t, "configmaps"))
		Eventually(t, "the watch to stop", d.WantNoSeries(WatchState("secrets", "ready")))
		rule := p.Inject(fault.Match{Verb: "watch", Resource: "secrets"}, func(w http.ResponseWriter, _ *http.Request, _ http.Handler, _ <-chan struct{}) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, frame+"\n")
		})
		SetConfiguration(t, Resources(t, "secrets", "configmaps"))
		Eventually(t, name, func(context.Context) error {
			if rule.Hits() < 2 { // then the first response has been read
				return errors.New("nothing was watched")
			}
			return nil
		})
		// Without a watch, the readiness probe may say why.
		if _, body, err := d.Get(t.Context(), "probes", "/readyz?verbose"); err != nil || c.IsIn(body) {
			t.Errorf("%s: /readyz says %q, %v", name, body, err)
		}
		rule.Remove()
	}
	after := SecretOf(ns, "after", Push, c)
	Create(t, Secrets, after)
	MustWork(t, WorkOfSecret(ns, "after", Push))
}

// pasteSecret pastes a Secret where the configuration belongs.
func pasteSecret(t *testing.T, c Canary, d *Daemon) {
	text, err := SecretOf("default", "pasted", Push, c).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	const rejected = "configuration rejected, the last good one stays in force"
	for _, pasted := range []string{string(text), string(c), "resources: " + string(c), "password: [" + string(c)} {
		before := d.Logged(rejected)
		previous := SetConfiguration(t, pasted)
		Eventually(t, "the rejection", d.WantLogged(rejected, before+1))
		SetConfiguration(t, previous)
	}
	WantEvent(t, Home(t), Account, "InvalidConfiguration")
}

// askAboutSecrets runs explain, diff and deletions.
func askAboutSecrets(t *testing.T, ns string, c Canary) {
	say := func(output string) {
		t.Helper()
		if output == "" || c.IsIn(output) {
			t.Errorf("the output has the canary, or is empty:\n%.2000s", output)
		}
	}
	for _, name := range []string{"invalid", "unknown", "claimed", "large", "taken", "denied", "policed", "mutated", "text"} {
		say(MustKarmadaMirror(t, "explain", "secret", name, "-n", ns))
	}
	say(MustKarmadaMirror(t, "deletions", "list"))

	u, err := Env.Admin.Resource(Secrets).Namespace(ns).Get(t.Context(), "text", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	SetField("b3RoZXI=", "data", "key")(u)
	SetAnnotation(render.ClustersAnnotation, Push+","+Push2)(u)
	u.SetAnnotations(map[string]string{render.ClustersAnnotation: u.GetAnnotations()[render.ClustersAnnotation]})
	output, code := diff(t, "-f", write(t, u))
	for _, line := range []string{"*** (before)", "*** (after)", "key: '***'", "text: '***'"} {
		if !strings.Contains(output, line) {
			t.Errorf("%q is not in the diff", line)
		}
	}
	if code != 1 || strings.Contains(output, "b3RoZXI=") || c.Forms()[1] != "" && strings.Contains(output, c.Forms()[1]) {
		t.Errorf("exit code %d:\n%s", code, output)
	}
}

// talkative is the name of a webhook and a policy that repeat what they are sent.
const talkative = "talkative.test.example"

// installTalkative has admission deny some Works of a namespace, mutate one, and warn
// about all, each time with the Work in the message.
func installTalkative(t *testing.T, ns string) {
	t.Helper()
	installWebhook(t, talkative, talk)
	denyWorks(t, talkative, "CREATE",
		fmt.Sprintf(`object.spec.workload.manifests.exists(m, m.kind == "Secret" && m.metadata.namespace == "%s" && m.metadata.name == "policed")`, ns),
		`messageExpression: "'this is it: ' + object.spec.workload.manifests[0].data.key"`)
	awaitPolicy(t, ns)
}

// awaitPolicy waits until the policy denies a Work, with its content in the message.
func awaitPolicy(t *testing.T, ns string) {
	t.Helper()
	c := NewCanary()
	probe := Object("work.karmada.io/v1alpha1", "Work", render.ExecutionNamespace(Push), "probe", map[string]any{
		"spec": map[string]any{"workload": map[string]any{"manifests": []any{SecretOf(ns, "policed", "", c).Object}}}})
	Eventually(t, "the policy to be in force", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(Works).Namespace(probe.GetNamespace()).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !c.IsIn(err.Error()) {
			return fmt.Errorf("it does not repeat what it is sent: %v", err)
		}
		return nil
	})
}

// talk repeats the Work in every field of the response that it can.
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

// valueIn is the value of the first key of a Secret.
func valueIn(content string) string {
	_, rest, _ := strings.Cut(content, `"key":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
