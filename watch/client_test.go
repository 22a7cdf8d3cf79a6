package watch

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// TestClientDecodes compares with client-go's own dynamic client.
func TestClientDecodes(t *testing.T) {
	frames := map[string]string{
		"Object":       `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","generation":3},"data":{"x":"\u00e9\n\",\"object\":"}}}`,
		"Numbers":      `{"type":"MODIFIED","object":{"apiVersion":"a.b/v1","kind":"T","spec":{"i":1,"f":1.5,"e":1e3,"big":9223372036854775807,"bigger":18446744073709551616,"n":null,"l":[1,{"b":true}]}}}`,
		"Bookmark":     `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}`,
		"Status":       `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}}`,
		"OtherOrder":   `{"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}},"type":"DELETED"}`,
		"Spaces":       `{ "type": "ADDED", "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}} }`,
		"DoubleKey":    `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","name":"b"}}}`,
		"NoKind":       `{"type":"ADDED","object":{"apiVersion":"v1","metadata":{"name":"a"}}}`,
		"NoVersion":    `{"type":"ADDED","object":{"kind":"ConfigMap","metadata":{"name":"a"}}}`,
		"NotAnObject":  `{"type":"ADDED","object":[1]}`,
		"UnknownType":  `{"type":"MOVED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}}`,
		"NoJSON":       `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap",}}`,
		"CutShort":     `{"type":"ADDED","object":{"apiVersion":"v1"`,
		"TypeEscapes":  `{"type":"A\u0044DED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}}`,
		"EmptyObject":  `{"type":"ADDED","object":{}}`,
		"ListOfThings": `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMapList","items":[{"metadata":{"name":"a"}}]}}`,
	}
	for name, frame := range frames {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintln(w, frame)
			}))
			defer server.Close()
			config := &rest.Config{Host: server.URL}
			stock, err := dynamic.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			ours, err := NewClient(config)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(watched(t, stock), watched(t, ours)); diff != "" {
				t.Errorf("-client-go's +ours:\n%s", diff)
			}
		})
	}
}

// watched is what a client makes of all events.
func watched(t *testing.T, client dynamic.Interface) []apiwatch.Event {
	t.Helper()
	w, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var events []apiwatch.Event
	for event := range w.ResultChan() {
		events = append(events, event)
	}
	return events
}
