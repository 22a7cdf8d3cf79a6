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

// server does to a Work what the API server does: Karmada's mutating webhook and
// merge patches, with the library that the API server applies them with.
type server struct {
	handler *webhook.MutatingAdmission
}

func newServer(t *testing.T) *server {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := workv1alpha1.Install(scheme); err != nil {
		t.Fatal(err)
	}
	// The handler logs each refusal, and we provoke thousands.
	klog.SetLogger(logr.Discard())
	t.Cleanup(klog.ClearLogger)
	return &server{&webhook.MutatingAdmission{Decoder: admission.NewDecoder(scheme)}}
}

// admit returns the Work after the webhook; an error is its refusal, or its
// panic, which Karmada answers with an internal error too.
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
		return nil, fmt.Errorf("the webhook refuses: %s", response.Result.Message)
	}
	operations, err := json.Marshal(response.Patches)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		return nil, err
	}
	return patch.Apply(work)
}

// checkCreate wants the template's digest from its Work after the webhook, and
// returns that Work. The error is that of a webhook that does not take it.
func (s *server) checkCreate(t *testing.T, template *render.Template) ([]byte, error) {
	t.Helper()
	created, err := s.admit(t, template.Work(cluster))
	if err != nil {
		return nil, err
	}
	checkDigest(t, "create", template, created)
	return created, nil
}

// checkUpdates wants the digest again after our patch of a Work that means the
// same, and of one that means something else.
func (s *server) checkUpdates(t *testing.T, template *render.Template, created []byte) {
	t.Helper()
	patch := template.Patch(cluster, "1", nil, false)
	edited, err := jsonpatch.MergePatch(created, []byte(`{"spec":{"suspendDispatching":true,"workload":{"manifests":[]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for after, work := range map[string][]byte{"update": created, "repair": edited} {
		patched, err := jsonpatch.MergePatch(work, patch)
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

func checkDigest(t *testing.T, after string, template *render.Template, work []byte) {
	t.Helper()
	got, err := render.DigestOf(decode(t, work), render.ExecutionNamespace(cluster), template.Name())
	if err != nil || got != template.Digest() {
		t.Fatalf("%s: after the %s the digest is %s, %v, the template's %s\n%.2000s", template.Source(), after, got, err, template.Digest(), work)
	}
}

// TestWebhook passes every built-in kind through Karmada's webhook: it must take
// every Work, leave our manifest as it is but for its ID, and change no digest.
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
	})
}

// checkUntouched wants from the webhook its ID, with the two places that list
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
// names of built-in ones, and look like them or not at all. Karmada's webhook
// does not take all of those, but those that it takes must not make us write
// again.
func TestWebhookForeign(t *testing.T) {
	s := newServer(t)
	const each = 600
	for i, kind := range prunedKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewSource(int64(i)))
			refused := 0
			for range each {
				if !s.takes(t, oddKind(random, kind)) {
					refused++
				}
			}
			t.Logf("%d odd objects, of which Karmada refuses %d", each, refused)
			if taken := each - refused; taken < each/10 {
				t.Errorf("only %d odd objects say anything", taken)
			}
		})
	}
}

// TestWebhookLookalike gives built-in kinds another group.
func TestWebhookLookalike(t *testing.T) {
	s := newServer(t)
	forEachKind(t, func(t *testing.T, sources []*unstructured.Unstructured) {
		for _, source := range sources[:len(sources)/8] {
			source.SetAPIVersion("example.com/v1")
			// Over a reference without a name Karmada panics, whatever the group.
			if !s.takes(t, source) && source.GetKind() != "ServiceAccount" {
				t.Errorf("Karmada refuses %s", identityOf(source))
			}
		}
	})
}

// TestWebhookHostile passes objects through that are no built-in kind and hold
// what JSON may hold.
func TestWebhookHostile(t *testing.T) {
	s := newServer(t)
	random := rand.New(rand.NewSource(1))
	for n := range 1000 {
		source := &unstructured.Unstructured{Object: map[string]any{"spec": shape(random, 5), "items": shape(random, 2), "metadata": map[string]any{
			"labels": shape(random, 2), "annotations": shape(random, 2), "finalizers": shape(random, 2), "ownerReferences": shape(random, 2),
		}}}
		source.SetAPIVersion("example.com/v1")
		source.SetKind("Widget")
		source.SetName(fmt.Sprint("hostile-", n))
		if !s.takes(t, source) {
			t.Errorf("Karmada refuses %v", source.Object)
		}
	}
}

// takes reports whether the webhook takes the Work of a source, and checks that
// it then stays as it means.
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
