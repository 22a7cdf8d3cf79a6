package e2e

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
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// timeToWork is how long a new ConfigMap takes to become a Work, the median of
// some.
func timeToWork(t *testing.T, namespace, prefix string) time.Duration {
	t.Helper()
	var took []time.Duration
	for i := range 9 {
		name := fmt.Sprintf("%s-%d", prefix, i)
		begin := time.Now()
		create(t, configMaps, configMap(namespace, name, push, "one"))
		mustWork(t, configMapWork(namespace, name, push))
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

func TestConversionWebhookDead(t *testing.T) {
	const group = "conversion.example"
	configure(t, configurationHead+breakerOff+"resources:\n- {resource: configmaps}\n- {group: "+group+", version: v2, resource: blobs}\n")
	blobs := installBlobs(t, group)
	d := startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	create(t, blobs, blob(group, ns, "x", push, "one"))
	wantBlobs := func() {
		t.Helper()
		eventually(t, "the Works", func(ctx context.Context) error {
			return disagreement(ctx, ns, configMaps, blobs)
		})
	}
	wantBlobs()
	before := timeToWork(t, ns, "before")
	f := newFault(t, "Conversion webhook of one CRD dead", ns, blobs)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := listener.Addr().String()
	if err := listener.Close(); err != nil { // from here on nobody answers there
		t.Fatal(err)
	}
	applyBlobs(t, group, fmt.Sprintf("  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://%s/'}}}", dead))
	eventually(t, "the conversion to fail", func(ctx context.Context) error {
		_, err := env.admin.Resource(blobs).Namespace(ns).Get(ctx, "x", metav1.GetOptions{})
		if err == nil {
			return errors.New("it works")
		}
		return nil
	})
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	d = spawnDaemon(t)
	eventually(t, "the watch to be degraded", d.wantMetric(fmt.Sprintf(`karmada_mirror_watch_state{resource="blobs.%s",state="degraded"}`, group), "1"))
	during := timeToWork(t, ns, "during")
	f.note = fmt.Sprintf("annotate → Work of the others, median: %s before, %s during", before.Round(time.Millisecond), during.Round(time.Millisecond))
	if lines := d.logged("cannot list or watch, trying again"); lines > 2 {
		t.Errorf("%d lines of the log are about the one resource", lines)
	}
	f.wantNoDeletes()
	applyBlobs(t, group, "  conversion: {strategy: None}")
	f.heal()
	f.converge(2 * patience)
}

// testConfigurationCycles adds a resource and takes it away 200 times.
func testConfigurationCycles(t *testing.T) {
	ns := newNamespace(t)
	text := func(others string) string {
		return fmt.Sprintf("%sresources:\n- {resource: configmaps, namespaces: [%s]}\n%s", configurationHead+breakerOn, ns, others)
	}
	const name = "configuration"
	create(t, configMaps, object("v1", "ConfigMap", ns, name, map[string]any{"data": map[string]any{config.Key: text("")}}))
	d := startDaemon(t, "--config-map", ns+"/"+name, "--leader-elect=false", noMutationDetector)
	ids := createPages(t, ns, both, 5)
	wantSources(t, ns)
	f := newFault(t, "A resource added to and taken from the configuration 200 times", ns)
	f.only(ids, push, pull)
	cycle := func(n int) {
		for i := range n {
			others := "- {resource: serviceaccounts}\n- {resource: services}\n"
			if i%2 == 1 {
				others = ""
			}
			before := d.logged("configuration in force")
			change(t, configMaps, ns, name, setField(text(others), "data", config.Key))
			eventually(t, "the configuration", func(context.Context) error {
				if d.logged("configuration in force") == before {
					return errors.New("not yet")
				}
				return nil
			})
		}
	}
	cycle(20)
	goroutines, heap := d.settled(t)
	cycle(400)
	f.heal()
	f.converge(patience)
	eventually(t, "goroutines and heap to be back", func(context.Context) error {
		now, heapNow := d.settled(t)
		f.note = fmt.Sprintf("goroutines %.0f → %.0f, heap %.1f → %.1f MB", goroutines, now, heap/1e6, heapNow/1e6)
		if now > goroutines+3 || heapNow > 1.2*heap+2e6 {
			return errors.New(f.note)
		}
		return nil
	})
	env.rows.note(f.name, f.note)
}

// settled reads the number of goroutines, and the heap as it is after a garbage
// collection: the least of some readings.
func (d *daemon) settled(t *testing.T) (goroutines, heap float64) {
	t.Helper()
	for i := range 10 {
		pass(t, 300*time.Millisecond)
		g, h := d.number(t, "go_goroutines"), d.number(t, "go_memstats_heap_alloc_bytes")
		if i == 0 {
			goroutines, heap = g, h
		}
		goroutines, heap = min(goroutines, g), min(heap, h)
	}
	return goroutines, heap
}

func (d *daemon) number(t *testing.T, series string) float64 {
	t.Helper()
	value, err := d.metric(series)
	if err != nil {
		t.Fatal(err)
	}
	var number float64
	if _, err := fmt.Sscan(value, &number); err != nil {
		t.Fatal(err)
	}
	return number
}

// TestPoison mirrors objects that are hard to digest beside ordinary ones.
func TestPoison(t *testing.T) {
	const group = "poison.example"
	configure(t, resources("configmaps", "blobs."+group))
	blobs := installBlobs(t, group)
	d := startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	f := newFault(t, "Poison objects: nested 2,000 deep, numbers beyond any range, 10,000 keys, hostile annotations", ns, blobs)
	deep := any("bottom")
	for range 2000 {
		deep = map[string]any{"d": deep}
	}
	many := map[string]any{}
	for i := range 10_000 {
		many[fmt.Sprintf("key \u2028 %d", i)] = []any{int64(i), nil, true, ""}
	}
	poison := map[string]any{
		"deep": deep, "many": many,
		"numbers":   []any{json.Number("1e400").String(), 1e300, -0.0, int64(1) << 62},
		"lookalike": map[string]any{"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": "none"},
	}
	for name, content := range poison {
		create(t, blobs, blob(group, ns, name, both, content))
	}
	hostile := configMap(ns, "hostile", strings.Repeat("member1,", 2000), "one")
	create(t, configMaps, hostile)
	createPages(t, ns, both, 5)
	f.heal()
	f.converge(patience)
	if err := d.probe("/livez"); err != nil {
		t.Error(err)
	}
}

// TestSizeLimit mirrors objects as large as etcd takes them. Their Works are a
// little larger, and some too large.
func TestSizeLimit(t *testing.T) {
	const group = "large.example"
	configure(t, resources("blobs."+group))
	blobs := installBlobs(t, group)
	d := startDaemon(t)
	ns := newNamespace(t)
	f := newFault(t, "Works of 1.0 to 1.6 MB", ns, blobs)
	audit := auditFromNow(t)
	const limit = 1536 << 10 // of etcd's requests
	stored := 0
	var tooLarge []string
	for _, size := range []int{1_000_000, 1_200_000, 1_400_000, 1_500_000, limit - 2400, limit - 2000, limit - 1600, limit - 1400, limit - 1200, limit - 1000, limit - 800, limit - 600, 1_600_000} {
		name := fmt.Sprintf("b%d", size)
		u := blob(group, ns, name, push, strings.Repeat("x", size))
		_, err := env.admin.Resource(blobs).Namespace(ns).Create(t.Context(), u, metav1.CreateOptions{})
		if err != nil {
			continue // etcd does not take the source itself
		}
		stored++
		eventually(t, "a Work or a refusal", func(ctx context.Context) error {
			_, err := getWork(ctx, workOfBlob(group, ns, name))
			if err == nil || d.logged("refused") == len(tooLarge) {
				return err
			}
			tooLarge = append(tooLarge, name)
			return nil
		})
	}
	if stored < 4 || len(tooLarge) == 0 {
		t.Errorf("%d objects were stored, and %d Works too large: the sizes do not meet the limit", stored, len(tooLarge))
	}
	eventually(t, "the refusals", d.wantMetric(`karmada_mirror_refused_sources{reason="TooLarge"}`, fmt.Sprint(len(tooLarge))))
	// Whatever makes it look at them again, the same bytes are not sent again.
	for i := range 5 {
		configure(t, resources("blobs."+group)+fmt.Sprintf("# %d\n", i))
	}
	eventually(t, "the configurations", func(context.Context) error {
		if d.logged("configuration in force") < 6 {
			return errors.New("not yet")
		}
		return nil
	})
	eventually(t, "the queue to be empty", d.wantMetric(`workqueue_depth{name="mirror"}`, "0"))
	if attempts := refusedCreates(t, audit); attempts != len(tooLarge) {
		t.Errorf("%d Works are too large, and %d attempts were made", len(tooLarge), attempts)
	}
	f.note = fmt.Sprintf("%d objects stored, %d of their Works too large: one attempt each (every 5 minutes)", stored, len(tooLarge))
	for _, name := range tooLarge { // what cannot be mirrored is not lost
		remove(t, blobs, ns, name)
	}
	f.heal()
	f.converge(patience)
}

func workOfBlob(group, namespace, name string) types.NamespacedName {
	id := render.Identity{Group: group, Kind: "Blob", Namespace: namespace, Name: name}
	return types.NamespacedName{Namespace: render.ExecutionNamespace(push), Name: id.WorkName()}
}

func refusedCreates(t *testing.T, audit auditLog) int {
	t.Helper()
	n := 0
	for _, r := range audit.requests(t) {
		if r.Verb == "create" && r.ObjectRef.Resource == "works" && !r.succeeded() {
			n++
		}
	}
	return n
}

// TestDeletesDenied has a policy deny the daemon every deletion of a Work.
func TestDeletesDenied(t *testing.T) {
	d := startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	ids := createPages(t, ns, both, 12)
	wantSources(t, ns)
	f := newFault(t, "All deletions of Works denied by an admission policy, later lifted", ns)
	const name = "deny-deletions"
	policy := fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [work.karmada.io], apiVersions: ['*'], operations: [DELETE], resources: [works]}
  matchConditions:
  - {name: daemon, expression: "request.userInfo.username.endsWith(':%[2]s')"}
  validations:
  - {expression: "false", message: "no deletions today"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, name, account)
	if err := karmada.Apply(t.Context(), env.Config(), []byte(policy)); err != nil {
		t.Fatal(err)
	}
	lift := func(ctx context.Context) error {
		err := env.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{})
		return errors.Join(err, env.client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Delete(ctx, name, metav1.DeleteOptions{}))
	}
	lifted := false
	t.Cleanup(func() {
		if !lifted {
			_ = lift(context.Background())
		}
	})
	eventually(t, "the policy to be in force", func(context.Context) error {
		if len(ids) > 3 { // one source after the other, until one is denied
			f.allow(ids[0], push, pull)
			remove(t, configMaps, ns, ids[0].Name)
			ids = ids[1:]
		}
		if d.logged("sync failed, trying again") == 0 {
			return errors.New("nothing is denied yet")
		}
		return nil
	})
	workload(t, f, ns, ids)
	if err := lift(t.Context()); err != nil {
		t.Fatal(err)
	}
	lifted = true
	f.heal()
	f.converge(patience)
}

// TestMutatingWebhook runs a webhook that changes the manifest of every Work.
func TestMutatingWebhook(t *testing.T) {
	d := startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	const sources = 5
	f := newFault(t, "A mutating webhook edits every Work", ns)
	f.note = "said once per Work, left at that; in sync when the source changes after the webhook has gone"
	const name = "meddler.test.example"
	url, authority := startMeddler(t)
	webhooks := env.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err := webhooks.Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    name,
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: authority},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"work.karmada.io"}, APIVersions: []string{"*"}, Resources: []string{"works"}},
			}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uninstall := func(ctx context.Context) error { return webhooks.Delete(ctx, name, metav1.DeleteOptions{}) }
	t.Cleanup(func() { _ = uninstall(context.Background()) })
	eventually(t, "the webhook to be called", func(ctx context.Context) error {
		probe := object("work.karmada.io/v1alpha1", "Work", render.ExecutionNamespace(push), "probe", map[string]any{
			"spec": map[string]any{"workload": map[string]any{"manifests": []any{configMap(ns, "probe", "", "").Object}}}})
		created, err := env.admin.Resource(works).Namespace(probe.GetNamespace()).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err
		}
		if text, err := created.MarshalJSON(); err != nil || !bytes.Contains(text, []byte("meddled")) {
			return fmt.Errorf("it was not: %v", err)
		}
		return nil
	})
	audit := auditFromNow(t)
	createPages(t, ns, both, sources)
	const said = "admission alters what is written: leaving it at that"
	eventually(t, "it to be said once per Work", func(context.Context) error {
		if got := d.logged(said); got != 2*sources {
			return fmt.Errorf("it was said %d times", got)
		}
		return nil
	})
	for i := range 20 { // whatever makes it look again
		change(t, configMaps, system, account, setAnnotation("round", fmt.Sprint(i)))
		configure(t, resources("configmaps")+fmt.Sprintf("# %d\n", i))
	}
	eventually(t, "the queue to be empty", d.wantMetric(`workqueue_depth{name="mirror"}`, "0"))
	for what, count := range audit.writes(t) {
		if what != "create works" || count != 2*sources {
			t.Errorf("with the webhook, %d %s", count, what)
		}
	}
	if got := d.logged(said); got != 2*sources {
		t.Errorf("it was said %d times", got)
	}
	if err := uninstall(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the webhook to be gone", func(ctx context.Context) error {
		for i := range sources {
			change(t, configMaps, ns, fmt.Sprintf("page-%d", i), setField(fmt.Sprint(time.Now().UnixNano()), "data", "key"))
		}
		pass(t, time.Second)
		return disagreement(ctx, ns, configMaps)
	})
	f.heal()
	f.converge(patience)
}

// startMeddler serves a webhook that adds an annotation to each manifest.
func startMeddler(t *testing.T) (url string, authority []byte) {
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
		jsonPatch := admissionv1.PatchTypeJSONPatch
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: true, PatchType: &jsonPatch,
			Patch: []byte(`[{"op":"add","path":"/spec/workload/manifests/0/metadata/annotations/meddled","value":"yes"}]`),
		}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review) // an API server that has gone has gone
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, certificate
}

// TestMassRecreation deletes a thousand objects and makes them again at once.
func TestMassRecreation(t *testing.T) {
	const sources = 1000
	startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	makeAll := func(value string) {
		t.Helper()
		inParallel(t, sources, func(ctx context.Context, i int) error {
			_, err := env.admin.Resource(configMaps).Namespace(ns).Create(ctx, configMap(ns, fmt.Sprintf("page-%d", i), push, value), metav1.CreateOptions{})
			return err
		})
	}
	makeAll("one")
	within(t, 2*patience, "the Works", func(ctx context.Context) error { return disagreement(ctx, ns, configMaps) })
	f := newFault(t, "1,000 objects deleted and made again at once", ns)
	for i := range sources { // between the two, what does not exist may be deleted
		f.allow(render.Identity{Kind: "ConfigMap", Namespace: ns, Name: fmt.Sprintf("page-%d", i)}, push)
	}
	removeAll(t, configMaps, ns, allPages)
	makeAll("two")
	f.heal()
	f.converge(2 * patience)
	removeAll(t, configMaps, ns, allPages)
	within(t, 2*patience, "the Works to go", func(ctx context.Context) error { return disagreement(ctx, ns, configMaps) })
}

// inParallel calls do for each of n numbers, some at a time.
func inParallel(t *testing.T, n int, do func(context.Context, int) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestExecutionNamespaceTerminating deletes the namespace of a cluster's Works
// under the daemon's hands.
func TestExecutionNamespaceTerminating(t *testing.T) {
	startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	createPages(t, ns, both, 5)
	create(t, configMaps, configMap(ns, "other", push2, "one"))
	wantSources(t, ns)
	f := newFault(t, "The execution namespace of a cluster terminating, then made again", ns)
	execution := render.ExecutionNamespace(push2)
	keeper := object("v1", "ConfigMap", execution, "keeper", nil)
	keeper.SetFinalizers([]string{"test.example/keep"})
	create(t, configMaps, keeper)
	remove(t, namespaces, "", execution)
	eventually(t, "the Works in it to go", func(ctx context.Context) error {
		_, err := getWork(ctx, configMapWork(ns, "other", push2))
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %v", err)
	})
	change(t, configMaps, ns, "page-0", setAnnotation(render.ClustersAnnotation, push+","+push2))
	f.allow(render.Identity{Kind: "ConfigMap", Namespace: ns, Name: "page-0"}, pull)
	create(t, configMaps, configMap(ns, "late", both+","+push2, "one"))
	wantInMembers(t, ns, "late", "one", push, pull)
	f.wantNoDeletes()
	change(t, configMaps, execution, "keeper", func(u *unstructured.Unstructured) { u.SetFinalizers(nil) })
	eventually(t, "the namespace to go", func(ctx context.Context) error {
		_, err := env.admin.Resource(namespaces).Get(ctx, execution, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %v", err)
	})
	// Karmada makes it again when it next looks at the cluster.
	change(t, clusters, "", push2, setAnnotation("looked", "at"))
	eventually(t, "the namespace to be there", func(ctx context.Context) error {
		_, err := env.admin.Resource(namespaces).Get(ctx, execution, metav1.GetOptions{})
		return err
	})
	f.heal()
	f.converge(2 * patience)
}
