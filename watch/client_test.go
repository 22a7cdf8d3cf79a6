package watch

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// anEvent returns an event with a ConfigMap of some size.
func anEvent(size int) string {
	return fmt.Sprintf(`{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a%d"},"data":{"x":"%s"}}}`, size, strings.Repeat("x", size))
}

// TestClientDecodes compares with client-go's own dynamic client.
func TestClientDecodes(t *testing.T) {
	streams := map[string]string{
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
		"TypeEscapes":  `{"type":"A\u0044DED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}}`,
		"EmptyObject":  `{"type":"ADDED","object":{}}`,
		"ListOfThings": `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMapList","items":[{"metadata":{"name":"a"}}]}}`,
		"Nothing":      "",
		"Several":      anEvent(1) + "\n" + anEvent(2) + "\n" + anEvent(3),
		"OfAllSizes":   anEvent(900) + "\n" + anEvent(64<<10) + "\n" + anEvent(10) + "\n" + anEvent(3<<20) + "\n" + anEvent(1023),
		"Indented":     anEvent(1) + "\n{\n  \"type\": \"ADDED\",\n  \"object\": {\"apiVersion\": \"v1\",\n \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"b\"}}\n}\n" + anEvent(2),
		"EmptyLines":   anEvent(1) + "\n\n\n" + anEvent(2) + "\n",
	}
	for length := range len(anEvent(1)) { // a connection that is cut
		streams[fmt.Sprintf("CutAt%d", length)] = anEvent(2) + "\n" + anEvent(1)[:length]
	}
	for name, stream := range streams {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				end := "\n"
				if strings.HasPrefix(name, "CutAt") {
					end = ""
				}
				fmt.Fprint(w, stream, end)
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

// watched returns the events as a client decodes them.
func watched(t *testing.T, client dynamic.Interface) []apiwatch.Event {
	t.Helper()
	w, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var events []apiwatch.Event
	for event := range w.ResultChan() {
		if status, ok := event.Object.(*metav1.Status); ok && status.Details != nil {
			// The two describe a malformed frame in different words.
			for i := range status.Details.Causes {
				status.Details.Causes[i].Message = ""
			}
			status.Message = strings.Split(status.Message, ":")[0]
		}
		events = append(events, event)
	}
	return events
}
