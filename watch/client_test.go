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

// TestClientDecodesAnswers compares with client-go's own dynamic client.
func TestClientDecodesAnswers(t *testing.T) {
	for name, answer := range map[string]string{
		"Object":      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","generation":3},"data":{"x":"\u00e9\n"}}`,
		"OwnKinds":    `{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"resourceVersion":"7","continue":"x"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"},"n":[1,1.5,1e3]}]}`,
		"Custom":      `{"apiVersion":"a.b/v1","items":[{"apiVersion":"a.b/v1","kind":"T","metadata":{"name":"a"}}],"kind":"TList","metadata":{"resourceVersion":"7","remainingItemCount":3}}`,
		"HalfAKind":   `{"apiVersion":"a.b/v1","kind":"TList","items":[{"kind":"U"},{"apiVersion":"c/v1"}]}`,
		"Empty":       `{"apiVersion":"v1","kind":"ConfigMapList","metadata":{},"items":[]}`,
		"NullItems":   `{"apiVersion":"v1","kind":"ConfigMapList","metadata":{},"items":null}`,
		"NoItems":     `{"apiVersion":"v1","kind":"ConfigMapList","metadata":{}}`,
		"NullItem":    `{"apiVersion":"v1","kind":"ConfigMapList","items":[null,{"metadata":{"name":"a"}}]}`,
		"WrongItem":   `{"apiVersion":"v1","kind":"ConfigMapList","items":[1]}`,
		"WrongItems":  `{"apiVersion":"v1","kind":"ConfigMapList","items":{"a":1}}`,
		"NoKind":      `{"apiVersion":"v1","items":[{}]}`,
		"NoVersion":   `{"kind":"ConfigMapList","items":[{}]}`,
		"Status":      `{"apiVersion":"v1","kind":"Status","status":"Failure","message":"no","code":500}`,
		"Success":     `{"apiVersion":"v1","kind":"Status","status":"Success"}`,
		"NotAnObject": `[1]`,
		"NoJSON":      `{"apiVersion":"v1",`,
		"DoubleKey":   `{"apiVersion":"v1","kind":"ConfigMapList","items":[{}],"items":[]}`,
		"ForeignCase": `{"apiVersion":"v1","kind":"ConfigMapList","Items":[{}]}`,
	} {
		for _, code := range []int{http.StatusOK, http.StatusInternalServerError} {
			t.Run(fmt.Sprintf("%s%d", name, code), func(t *testing.T) {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(code)
					fmt.Fprint(w, answer)
				}))
				defer server.Close()
				stock, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
				if err != nil {
					t.Fatal(err)
				}
				ours, err := NewClient(&rest.Config{Host: server.URL})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(answersTo(t, stock), answersTo(t, ours)); diff != "" {
					t.Errorf("-client-go's +ours:\n%s", diff)
				}
			})
		}
	}
}

// answersTo returns what a client makes of the answers to a list and a get.
func answersTo(t *testing.T, client dynamic.Interface) (answers []any) {
	t.Helper()
	configMaps := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})
	list, err := configMaps.List(t.Context(), metav1.ListOptions{})
	answers = append(answers, list, fmt.Sprint(err))
	one, err := configMaps.Get(t.Context(), "a", metav1.GetOptions{})
	return append(answers, one, fmt.Sprint(err))
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
