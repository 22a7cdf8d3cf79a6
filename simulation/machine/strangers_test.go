package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// gadgets are a custom resource.
var gadgets = apiserver.Resource{Group: "example.org", Resource: "gateways", Kind: "Gateway", ListKind: "GatewayList", Singular: "gateway", Versions: []string{"v1"}, Namespaced: true, Generation: true, Custom: true}

func widgetRef(i int) apiserver.Ref {
	return apiserver.Ref{Resource: gadgets.GroupResource(), Namespace: "a", Name: fmt.Sprintf("widget-%d", i)}
}

// widgets defines a custom resource, and mirrors some of its objects.
func (m *machine) widgets(n int) act {
	m.more = "- {group: example.org, resource: gateways}\n"
	serve := func() error { return m.karmada.Member("m1").Serve(gadgets) }
	return m.tellAll(serve, m.defined, m.reconfigured, m.someWidgets(n), pause(time.Minute), m.countOf(n))
}

func (m *machine) reconfigured() error { return m.configure("*", none, true) }

func (m *machine) someWidgets(n int) act {
	return func() (err error) {
		for i := range n {
			m.strangers = append(m.strangers, model.Key{Kind: "Gateway", Namespace: "a", Name: widgetRef(i).Name})
			o := object("example.org/v1", "Gateway", "a", widgetRef(i).Name, map[string]any{"spec": map[string]any{"size": int64(i)}})
			err = errors.Join(err, m.adds(gadgets.GroupResource(), o, to("m1")))
		}
		return err
	}
}

func (m *machine) widgetsGo(n int) act {
	return func() (err error) {
		for i := range n {
			err = errors.Join(err, m.store.Delete(widgetRef(i), metav1.DeleteOptions{}))
		}
		return err
	}
}

var gadgetDefinition = apiserver.Ref{Resource: definitions, Name: "gateways.example.org"}

// defined creates the definition, and undefined deletes it and all widgets.
func (m *machine) defined() error {
	if _, err := m.store.Create(definitions, definitionOf(gadgets)); err != nil {
		return err
	}
	time.Sleep(time.Second)
	return nil
}

// unserves makes the API server no longer serve the widgets, which stay.
func (m *machine) unserves() error { return m.serves(gadgetDefinition, false) }

func (m *machine) servesGadgets() error { return m.serves(gadgetDefinition, true) }

// serves makes the API server serve what a definition defines, or no longer.
func (m *machine) serves(definition apiserver.Ref, served bool) error {
	_, err := m.store.Modify(definition, "", func(o apiserver.Object) {
		versions, _, _ := unstructured.NestedSlice(o, "spec", "versions")
		versions[0].(map[string]any)["served"] = served
		setField(versions, "spec", "versions")(&unstructured.Unstructured{Object: o})
	})
	return err
}

func (m *machine) undefined() error { return m.undefine(gadgetDefinition) }

// undefine deletes a definition and all objects of it.
func (m *machine) undefine(definition apiserver.Ref) error {
	if err := m.store.Delete(definition, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return await("the definition to be gone", func() error {
		if m.store.Get(definition) != nil {
			return errors.New("it still exists")
		}
		return nil
	})
}

func (m *machine) secret(name string, annotations map[string]string) act {
	return func() error {
		m.strangers = append(m.strangers, model.Key{Kind: "Secret", Namespace: "a", Name: name})
		return m.adds(schema.GroupResource{Resource: "secrets"}, object("v1", "Secret", "a", name, map[string]any{"stringData": map[string]any{"key": canary}}), annotations)
	}
}

func (m *machine) secretGoes(name string) act {
	return func() error {
		return m.store.Delete(apiserver.Ref{Resource: schema.GroupResource{Resource: "secrets"}, Namespace: "a", Name: name}, metav1.DeleteOptions{})
	}
}

// canary is in Secrets, as text and in base64.
const canary, encodedCanary = "canary-xyzzy", "Y2FuYXJ5LXh5enp5"

func isCanaryIn(text string) bool {
	return strings.Contains(text, canary) || strings.Contains(text, encodedCanary)
}

// secretsAreNotTold mirrors Secrets where everything fails, with servers and webhooks that repeat what they were sent, and
// looks for the contents in all that the daemons and the commands print.
func (m *machine) secretsAreNotTold() error {
	m.more = "- {resource: secrets}\n"
	echo := func(code int, kind string) fault.Fault {
		return func(r *http.Request, _ http.RoundTripper, _ <-chan struct{}) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			return &http.Response{StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(string(body))), ContentLength: -1}, err
		}
	}
	said := errors.New("you sent " + canary + " " + encodedCanary)
	answers := []fault.Fault{
		echo(500, "text/plain"), echo(502, "application/json"), echo(201, "text/plain"), fault.Refuse(apierrors.NewConflict(works, "x", said)), fault.Refuse(apierrors.NewInternalError(said)),
		fault.Refuse(apierrors.NewTooManyRequests(said.Error(), 1)), fault.Refuse(apierrors.NewBadRequest(said.Error())), fault.Refuse(apierrors.NewForbidden(works, "x", said)),
	}
	acts := []act{func() error { return m.configure("*", none, true) }, m.page(to("m1")), m.quiet}
	for i, f := range answers {
		acts = append(acts, m.slowly("create", "works", f), m.secret(fmt.Sprintf("key-%d", i), to("m1")), pause(10*time.Second), m.calm, pause(time.Minute))
	}
	denies := func(op string, gr schema.GroupResource, _ string, o, _ apiserver.Object) (apiserver.Object, error) {
		if gr == works && op != "DELETE" {
			return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Work"}, "x", nil)
		}
		return o, nil
	}
	acts = append(acts, m.logged("sync failed, retrying", 1, 1000), m.admits(denies, m.secret("denied", to("m1")), pause(time.Minute), m.commandsTellNothing), pause(time.Minute))
	secret, _ := json.Marshal(object("v1", "Secret", "a", "garbled", map[string]any{"data": map[string]any{"key": encodedCanary}}))
	for _, frame := range []string{
		fmt.Sprintf(`{"type":"ERROR","object":%s}`, secret), fmt.Sprintf(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":500,"message":%q}}`, canary), fmt.Sprintf(`{"type":"ADDED","object":%q}`, canary),
		fmt.Sprintf(`{"type":"ADDED","object":{"data":%q}}`, canary), fmt.Sprintf(`{"type":%q,"object":%s}`, canary, secret), canary, fmt.Sprintf(`{"type":"ADDED","object":{"apiVersion":"v1","kind":"Secret","metadata":%q}}`, canary),
	} {
		garbles := func(*http.Request, http.RoundTripper, <-chan struct{}) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(frame + "\n")), ContentLength: -1}, nil
		}
		acts = append(acts, m.slowly("watch", "secrets", garbles), m.ended("secrets"), pause(3*time.Second), m.calm, pause(2*time.Minute))
	}
	acts = append(acts, m.part("own.yaml", "kind: Secret\ndata: {key: "+encodedCanary+"}\nstringData: {key: "+canary+"}\n"), pause(time.Minute), m.told("InvalidConfiguration", 1, 1), m.part("own.yaml", ""), m.secret("after", to("m1")), pause(time.Minute),
		m.isThere(model.Key{Kind: "Secret", Namespace: "a", Name: "after"}, "*"), m.tellsNothing)
	for i := range answers {
		acts = append(acts, m.secretGoes(fmt.Sprintf("key-%d", i)))
	}
	return m.tell(append(acts, m.secretGoes("denied"), m.secretGoes("after"), pause(time.Minute), m.quiet)...)
}

// commandsTellNothing looks for the canary in what commands print.
func (m *machine) commandsTellNothing() error {
	for _, args := range []string{"explain secret/key-0 -n a", "diff -A", "status -A", "status secrets -n a -o yaml", "deletions list", "check"} {
		if out, err := m.command(strings.Fields(args)...); isCanaryIn(out) || err != nil && isCanaryIn(err.Error()) {
			return fmt.Errorf("it is in the output of %s: %w\n%s", args, err, out)
		}
	}
	return nil
}

// tellsNothing looks for the canary in logs, Events, metrics and probes.
func (m *machine) tellsNothing() (err error) {
	for _, r := range m.replicas {
		for _, line := range r.current.log.said("") {
			if isCanaryIn(line) {
				return fmt.Errorf("it is in the log: %s", line)
			}
		}
		_, metrics, err := r.get(":8080", "/metrics")
		if err != nil || isCanaryIn(metrics) {
			return fmt.Errorf("it is in the metrics: %w", err)
		}
	}
	for _, text := range m.events() {
		if isCanaryIn(text) {
			return fmt.Errorf("it is in an Event: %s", text)
		}
	}
	return nil
}
