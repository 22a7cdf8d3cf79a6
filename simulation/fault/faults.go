package fault

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// errReset is what a client sees of a connection that was cut.
var errReset = errors.New("connection reset by peer")

// Delay forwards a request late.
func Delay(d time.Duration) Fault {
	return func(r *http.Request, next http.RoundTripper, _ <-chan struct{}) (*http.Response, error) {
		if err := wait(r.Context(), d); err != nil {
			return nil, err
		}
		return next.RoundTrip(r)
	}
}

// DelayAnswer forwards a request at once, and answers late.
func DelayAnswer(d time.Duration) Fault {
	return func(r *http.Request, next http.RoundTripper, _ <-chan struct{}) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		if err := wait(r.Context(), d); err != nil {
			_ = response.Body.Close()
			return nil, err
		}
		return response, nil
	}
}

// Chain applies faults one inside the other, the first outermost.
func Chain(faults ...Fault) Fault {
	if len(faults) == 1 {
		return faults[0]
	}
	return func(r *http.Request, next http.RoundTripper, removed <-chan struct{}) (*http.Response, error) {
		return faults[0](r, inner(func(r *http.Request) (*http.Response, error) { return Chain(faults[1:]...)(r, next, removed) }), removed)
	}
}

type inner func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f inner) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Drop does not answer until the rule is removed, and then resets the connection.
func Drop() Fault {
	return func(r *http.Request, _ http.RoundTripper, removed <-chan struct{}) (*http.Response, error) {
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-removed:
			return nil, errReset
		}
	}
}

// Stick is Drop for a client that has given up as well: it does not get its call back.
func Stick() Fault {
	return func(_ *http.Request, _ http.RoundTripper, removed <-chan struct{}) (*http.Response, error) {
		<-removed
		return nil, errReset
	}
}

// Reset loses a request.
func Reset() Fault {
	return func(*http.Request, http.RoundTripper, <-chan struct{}) (*http.Response, error) { return nil, errReset }
}

// LoseAnswer has a request carried out, and loses the answer.
func LoseAnswer() Fault {
	return func(r *http.Request, next http.RoundTripper, _ <-chan struct{}) (*http.Response, error) {
		if response, err := next.RoundTrip(r); err == nil {
			_ = response.Body.Close()
		}
		return nil, errReset
	}
}

// Refuse answers with an error, such as one from apierrors.NewInternalError or
// apierrors.NewTooManyRequests.
func Refuse(err *apierrors.StatusError) Fault {
	return func(r *http.Request, _ http.RoundTripper, _ <-chan struct{}) (*http.Response, error) {
		status := err.Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		response := answer(int(status.Code), status)
		if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
			response.Header.Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
		}
		return response, nil
	}
}

// NoStreamingLists refuses streaming lists, as API servers before 1.34 do by default.
func NoStreamingLists(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("sendInitialEvents") == "" {
			return next.RoundTrip(r)
		}
		forbidden := field.Forbidden(field.NewPath("sendInitialEvents"), "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
		return Refuse(apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", field.ErrorList{forbidden}))(r, next, nil)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Expire ends watches with 410: the version that they resume from is too old. Streaming lists
// start from scratch and pass.
func Expire() Fault {
	return func(r *http.Request, next http.RoundTripper, _ <-chan struct{}) (*http.Response, error) {
		if r.URL.Query().Get("sendInitialEvents") == "true" {
			return next.RoundTrip(r)
		}
		status := apierrors.NewResourceExpired("too old resource version").Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		return answer(http.StatusOK, map[string]any{"type": "ERROR", "object": status}), nil
	}
}

func answer(code int, content any) *http.Response {
	text, err := json.Marshal(content)
	if err != nil {
		panic(err) // a status can be encoded
	}
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(append(text, '\n'))), ContentLength: -1,
	}
}

// Truncate ends lists after some items, as if there were no more, however they are requested.
// Events after the list still arrive.
func Truncate(most int) Fault {
	return func(r *http.Request, next http.RoundTripper, _ <-chan struct{}) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || response.StatusCode != http.StatusOK {
			return response, err
		}
		if r.URL.Query().Get("watch") != "" {
			listing, items := true, 0
			return filter(response, func(e event) bool {
				listing = listing && !e.endsList()
				if listing && e.Type == "ADDED" {
					items++
				}
				return !listing || e.Type != "ADDED" || items <= most
			}), nil
		}
		defer response.Body.Close()
		var list map[string]any
		if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
			return nil, err
		}
		if items, isList := list["items"].([]any); isList {
			list["items"] = items[:min(len(items), most)]
			metadata, _ := list["metadata"].(map[string]any)
			delete(metadata, "continue")
			delete(metadata, "remainingItemCount")
		}
		return answer(http.StatusOK, list), nil
	}
}

// SwallowBookmarks drops the bookmarks of watches: a streaming list never ends.
func SwallowBookmarks() Fault { return events(func(e event) bool { return e.Type != "BOOKMARK" }) }

// Silence drops all events.
func Silence() Fault { return events(func(event) bool { return false }) }

func events(pass func(event) bool) Fault {
	return func(r *http.Request, next http.RoundTripper, _ <-chan struct{}) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode == http.StatusOK {
			response = filter(response, pass)
		}
		return response, err
	}
}

// OwnEtcd gives resources the versions of another etcd, which is ahead, or behind.
func OwnEtcd(ahead int) Fault {
	const head = `"resourceVersion":"`
	versions := regexp.MustCompile(head + `\d+`)
	later := func(version []byte) []byte {
		n, _ := strconv.Atoi(string(version[len(head):]))
		return fmt.Appendf(nil, "%s%d", head, n+ahead)
	}
	return func(r *http.Request, next http.RoundTripper, _ <-chan struct{}) (*http.Response, error) {
		query := r.URL.Query()
		if n, _ := strconv.Atoi(query.Get("resourceVersion")); n > max(ahead, 0) {
			r = r.Clone(r.Context())
			query.Set("resourceVersion", strconv.Itoa(n-ahead))
			r.URL.RawQuery = query.Encode()
		}
		response, err := next.RoundTrip(r)
		if err == nil && r.Method == http.MethodGet {
			response = rewrite(response, func(line []byte) []byte { return versions.ReplaceAllFunc(line, later) })
		}
		return response, err
	}
}

// Gate holds back the events of watches while it is shut. It passes them on in order when it
// opens.
type Gate struct {
	mu     sync.Mutex
	opened chan struct{} // closed while the gate is open
}

// NewGate returns an open Gate.
func NewGate() *Gate {
	g := &Gate{opened: make(chan struct{})}
	close(g.opened)
	return g
}

// Shut stops all.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isOpen() {
		g.opened = make(chan struct{})
	}
}

// Open lets all pass.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isOpen() {
		close(g.opened)
	}
}

func (g *Gate) isOpen() bool {
	select {
	case <-g.opened:
		return true
	default:
		return false
	}
}

// Events sends the events of watches through the gate.
func (g *Gate) Events() Fault {
	return func(r *http.Request, next http.RoundTripper, _ <-chan struct{}) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || response.StatusCode != http.StatusOK {
			return response, err
		}
		response.Body = &gated{body: response.Body, gate: g, ended: r.Context().Done()}
		return response, nil
	}
}

// gated is a stream behind a gate.
type gated struct {
	body  io.ReadCloser
	gate  *Gate
	ended <-chan struct{}
}

// Read reads first, and then waits at the gate: what was on its way when it shut does not pass.
func (g *gated) Read(p []byte) (int, error) {
	n, err := g.body.Read(p)
	g.gate.mu.Lock()
	opened := g.gate.opened
	g.gate.mu.Unlock()
	select {
	case <-opened:
		return n, err
	case <-g.ended:
		return 0, errReset
	}
}

func (g *gated) Close() error { return g.body.Close() }

// event is the part of a watch event that a filter may inspect.
type event struct {
	Type   string
	Object struct {
		Metadata struct{ Annotations map[string]string }
	}
}

// endsList reports whether the event is the bookmark that ends a streaming list.
func (e event) endsList() bool {
	return e.Type == "BOOKMARK" && e.Object.Metadata.Annotations[metav1.InitialEventsAnnotationKey] == "true"
}

// filter forwards the events of a watch that pass accepts.
func filter(response *http.Response, pass func(event) bool) *http.Response {
	return rewrite(response, func(line []byte) []byte {
		if e := (event{}); json.Unmarshal(line, &e) == nil && !pass(e) {
			return nil
		}
		return line
	})
}

// rewrite changes a body line by line: a watch has an event in each.
func rewrite(response *http.Response, change func([]byte) []byte) *http.Response {
	response.Body = &rewritten{body: response.Body, lines: bufio.NewReader(response.Body), change: change}
	return response
}

type rewritten struct {
	body   io.ReadCloser
	lines  *bufio.Reader
	change func([]byte) []byte
	rest   []byte
}

func (f *rewritten) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		line, err := f.lines.ReadBytes('\n')
		if len(line) == 0 {
			return 0, err
		}
		f.rest = f.change(line)
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

func (f *rewritten) Close() error { return f.body.Close() }

// NoBookmarks drops the bookmarks that do not end a list, as an API server without a watch cache does.
func NoBookmarks() Fault {
	return events(func(e event) bool { return e.Type != "BOOKMARK" || e.endsList() })
}
