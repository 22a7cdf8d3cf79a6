package fault

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// editor changes responses. Both functions may be nil.
type editor struct {
	// list changes a whole list, and reports whether it did.
	list func(map[string]any) bool
	// event decides, for each stream, whether an event passes.
	event func() func(event) bool
}

// event is the part of a watch event that an editor may inspect.
type event struct {
	Type   string
	Object struct {
		Metadata struct{ Annotations map[string]string }
	}
}

// endsList reports whether the event is the bookmark that ends a streaming
// list.
func (e event) endsList() bool {
	return e.Type == "BOOKMARK" && e.Object.Metadata.Annotations[metav1.InitialEventsAnnotationKey] == "true"
}

type editorKey struct{}

func withEditor(r *http.Request, e editor) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), editorKey{}, e))
}

// editResponse applies the editor that the request carries.
func editResponse(response *http.Response) error {
	e, ok := response.Request.Context().Value(editorKey{}).(editor)
	if !ok || response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		return nil
	}
	ctx := response.Request.Context()
	if response.Request.URL.Query().Get("watch") != "" {
		if e.event != nil {
			pass := e.event()
			response.Body = filterEvents(response.Body, func(e event) bool {
				passes := pass(e)
				if !passes {
					noteEffect(ctx)
				}
				return passes
			})
			response.ContentLength = -1
			response.Header.Del("Content-Length")
		}
		return nil
	}
	if e.list == nil {
		return nil
	}
	return editList(response, func(list map[string]any) {
		if e.list(list) {
			noteEffect(ctx)
		}
	})
}

func editList(response *http.Response, change func(map[string]any)) error {
	defer response.Body.Close()
	var list map[string]any
	decoder := json.NewDecoder(response.Body)
	decoder.UseNumber()
	if err := decoder.Decode(&list); err != nil {
		return err
	}
	change(list)
	edited, err := json.Marshal(list)
	if err != nil {
		return err
	}
	response.Body = io.NopCloser(bytes.NewReader(edited))
	response.ContentLength = int64(len(edited))
	response.Header.Del("Content-Length")
	return nil
}

// filterEvents forwards the events of a watch, one per line, that pass
// accepts.
func filterEvents(body io.ReadCloser, pass func(event) bool) io.ReadCloser {
	reader, writer := io.Pipe()
	go func() {
		lines := bufio.NewReader(body)
		for {
			line, err := lines.ReadBytes('\n')
			var e event
			if len(line) > 0 && (json.Unmarshal(line, &e) != nil || pass(e)) {
				if _, err := writer.Write(line); err != nil {
					return
				}
			}
			if err != nil {
				writer.CloseWithError(err)
				return
			}
		}
	}()
	return filtered{reader, body}
}

// filtered also closes the response that it reads from.
type filtered struct {
	*io.PipeReader
	body io.Closer
}

func (f filtered) Close() error {
	_ = f.PipeReader.Close() // never fails
	return f.body.Close()
}

func truncate(most int) editor {
	return editor{
		list: func(list map[string]any) bool {
			items, _ := list["items"].([]any)
			list["items"] = items[:min(len(items), most)]
			if metadata, ok := list["metadata"].(map[string]any); ok {
				delete(metadata, "continue")
				delete(metadata, "remainingItemCount")
			}
			return len(items) > most
		},
		event: func() func(event) bool {
			listing, items := true, 0
			return func(e event) bool {
				if e.endsList() {
					listing = false
				}
				if !listing || e.Type != "ADDED" {
					return true
				}
				items++
				return items <= most
			}
		},
	}
}

func swallowBookmarks() editor {
	return editor{event: func() func(event) bool {
		return func(e event) bool { return e.Type != "BOOKMARK" }
	}}
}
