package parity

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"testing"

	"github.com/go-logr/logr"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	webhook "github.com/karmada-io/karmada/pkg/webhook/work"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/karmada-target/karmada-mirror/render"
)

// server does to a Work what the API server does: it runs Karmada's mutating
// webhook, and applies merge patches with the library that the API server uses.
type server struct {
	handler *webhook.MutatingAdmission
}

func newServer(t *testing.T) *server {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := workv1alpha1.Install(scheme); err != nil {
		t.Fatal(err)
	}
	// The handler logs each rejection, and we provoke thousands.
	klog.SetLogger(logr.Discard())
	t.Cleanup(klog.ClearLogger)
	return &server{&webhook.MutatingAdmission{Decoder: admission.NewDecoder(scheme)}}
}

// admit returns the Work after the webhook. An error is a rejection, or a panic,
// which Karmada also answers with an internal error.
func (s *server) admit(t *testing.T, work []byte) (admitted []byte, err error) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the webhook panics: %v", r)
		}
	}()
	response := s.handler.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create,
		Object:    runtime.RawExtension{Raw: work},
	}})
	if !response.Allowed {
		return nil, fmt.Errorf("the webhook rejects the Work: %s", response.Result.Message)
	}
	operations, err := json.Marshal(response.Patches)
	if err != nil {
		return nil, err
	}
	return applied(work, operations)
}

// applied returns a Work with the operations of a JSON patch.
func applied(work, operations []byte) ([]byte, error) {
	patch, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		return nil, err
	}
	return patch.Apply(work)
}

// checkCreate expects the template's digest from its Work after the webhook, and
// returns that Work. It returns an error if the webhook rejects the Work.
func (s *server) checkCreate(t *testing.T, template *render.Template) ([]byte, error) {
	t.Helper()
	created, err := s.admit(t, template.Work(cluster))
	if err != nil {
		return nil, err
	}
	checkDigest(t, "create", template, created)
	return created, nil
}

// checkUpdates expects the same digest after our patch of a Work that means the
// same, and of one that means something else.
func (s *server) checkUpdates(t *testing.T, template *render.Template, created []byte) {
	t.Helper()
	patch := template.Patch(cluster, "1", nil, 1, false)
	edited, err := jsonpatch.MergePatch(created, []byte(`{"spec":{"suspendDispatching":true,"workload":{"manifests":[]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for after, work := range map[string][]byte{"update": created, "repair": edited} {
		patched, err := apply(t, work, patch)
		if err != nil {
			t.Fatal(err)
		}
		updated, err := s.admit(t, patched)
		if err != nil {
			t.Fatalf("%s: the create passed, the %s does not: %v", template.Source(), after, err)
		}
		checkDigest(t, after, template, updated)
	}
}

// apply patches a Work as the daemon does.
func apply(t *testing.T, work, patch []byte) ([]byte, error) {
	t.Helper()
	if !render.LosesNulls(patch) {
		return jsonpatch.MergePatch(work, patch)
	}
	operations, err := render.Replacement(decode(t, work), patch)
	if err != nil {
		return nil, err
	}
	return applied(work, operations)
}

func checkDigest(t *testing.T, after string, template *render.Template, work []byte) {
	t.Helper()
	got, _, err := render.DigestOf(decode(t, work), render.ExecutionNamespace(cluster), template.Name())
	if err != nil || got != template.Digest() {
		t.Fatalf("%s: after the %s the digest is %s, %v, the template's %s\n%.2000s", template.Source(), after, got, err, template.Digest(), work)
	}
}

// TestWebhook passes every built-in kind through Karmada's webhook: it must
// accept every Work, change nothing in our manifest but its ID, and change no
// digest. Some of them then get another group.
func TestWebhook(t *testing.T) {
	s := newServer(t)
	forEachKind(t, func(t *testing.T, sources []*unstructured.Unstructured) {
		for n, source := range sources {
			template := newTemplate(t, source)
			created, err := s.checkCreate(t, template)
			if err != nil {
				t.Fatal(err)
			}
			if n%10 == 0 {
				s.checkUpdates(t, template, created)
				checkUntouched(t, template, created)
			}
		}
		for _, lookalike := range sources[:len(sources)/8] {
			lookalike.SetAPIVersion("example.com/v1")
			// Karmada panics on a reference without a name, whatever the group.
			if !s.takes(t, lookalike) && lookalike.GetKind() != "ServiceAccount" {
				t.Errorf("Karmada rejects %s", identityOf(lookalike))
			}
		}
	})
}

// checkUntouched expects the webhook to add its ID, and the two lists that name
// it, and nothing else.
func checkUntouched(t *testing.T, template *render.Template, created []byte) {
	t.Helper()
	after, before := manifestOf(t, created), manifestOf(t, template.Work(cluster))
	for _, d := range compare(nil, after.Object, before.Object) {
		key, _ := d.key("labels", "annotations")
		id := key == workv1alpha2.WorkPermanentIDLabel || key == workv1alpha2.ManagedLabels
		token := after.GetKind() == "Secret" && len(d.path) == 1 && d.path[0] == "data" && d.theirs == nil
		extensions := after.GroupVersionKind().Group == "extensions" && d.theirs == nil || key == workv1alpha2.ManagedAnnotation && after.GroupVersionKind().Group == "extensions"
		if !id && !token && !extensions {
			t.Errorf("%s: the webhook rewrites %s", template.Source(), d)
		}
	}
}

// TestWebhookForeign does the same with kinds of another group that have the
// names of built-in ones, whether or not they look like them. Karmada's webhook
// does not accept all of those, but those that it accepts must not make us write
// again.
func TestWebhookForeign(t *testing.T) {
	s := newServer(t)
	const each = 600
	for i, kind := range append([]string{"Widget"}, prunedKinds...) { // of Widgets, Karmada knows nothing
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewSource(int64(i)))
			refused := 0
			for range each {
				if !s.takes(t, oddKind(random, kind)) {
					refused++
				}
			}
			t.Logf("%d odd objects, of which Karmada rejects %d", each, refused)
			if taken := each - refused; taken < each/10 || kind == "Widget" && refused > 0 {
				t.Errorf("only %d odd objects prove anything", taken)
			}
		})
	}
}

// takes reports whether the webhook accepts the Work of a source, and checks that
// its meaning then stays the same.
func (s *server) takes(t *testing.T, source *unstructured.Unstructured) bool {
	t.Helper()
	template := newTemplate(t, source)
	created, err := s.checkCreate(t, template)
	if err != nil {
		return false
	}
	s.checkUpdates(t, template, created)
	return true
}
