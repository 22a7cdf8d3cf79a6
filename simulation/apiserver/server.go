package apiserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
)

// maxBody is the longest request that is read.
const maxBody = 3 << 20

// Server is one API server of a store.
type Server struct {
	store    *Store
	protobuf runtime.Decoder

	mu        sync.Mutex
	lags      map[schema.GroupResource]time.Duration
	seen      map[schema.GroupResource]int64 // a watch cache never goes back
	lagged    chan struct{}                  // closed when a lag changes
	audit     func(AuditEvent)
	authorize func(verb string, r Ref, userAgent string) bool
}

var _ http.RoundTripper = &Server{}

// NewServer makes an API server of the store.
func (s *Store) NewServer() *Server {
	return &Server{store: s, protobuf: protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), lags: map[schema.GroupResource]time.Duration{}, seen: map[schema.GroupResource]int64{}, lagged: make(chan struct{})}
}

// Authorize sets who may do what; nil allows everything. The resource of a subresource is
// named as in RBAC: deployments/scale.
func (srv *Server) Authorize(f func(verb string, r Ref, userAgent string) bool) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.authorize = f
}

func (srv *Server) allows(verb string, r Ref, userAgent string) bool {
	srv.mu.Lock()
	authorize := srv.authorize
	srv.mu.Unlock()
	return authorize == nil || authorize(verb, r, userAgent)
}

// request is what is asked of a resource.
type request struct {
	*http.Request
	Ref
	verb, version, subresource string
	collection                 *collection
	body                       []byte
	partial                    bool
}

// response is an answer before it is one of HTTP.
type response struct {
	code int
	body []byte
	kind string // of the content
	// stream replaces the body.
	stream io.ReadCloser
}

// RoundTrip implements http.RoundTripper.
func (srv *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	var err error
	if r.Body != nil {
		defer r.Body.Close()
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if body, err := srv.fromProtobuf(body); err == nil {
		return srv.serve(&request{Request: r, body: body}).http(r), nil
	}
	return failure(apierrors.NewBadRequest("cannot decode the body")).http(r), nil
}

// fromProtobuf translates what the clients of built-in kinds send.
func (srv *Server) fromProtobuf(body []byte) ([]byte, error) {
	if !bytes.HasPrefix(body, []byte("k8s\x00")) {
		return body, nil
	}
	object, kind, err := srv.protobuf.Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(*kind)
	return encode(object), nil
}

func (a response) http(r *http.Request) *http.Response {
	if a.stream == nil {
		a.stream = io.NopCloser(bytes.NewReader(a.body))
	}
	length := int64(len(a.body))
	if a.body == nil {
		length = -1
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", a.code, http.StatusText(a.code)), StatusCode: a.code,
		Proto: "HTTP/2.0", ProtoMajor: 2, Header: http.Header{"Content-Type": {a.kind}},
		Body: a.stream, ContentLength: length, Request: r,
	}
}

func (srv *Server) serve(r *request) response {
	if a, ok := srv.discover(r); ok {
		return a
	}
	if !srv.resolve(r) {
		return srv.unresolved(r)
	}
	r.verb = verbOf(r)
	done := srv.record(r)
	a, err := srv.answer(r)
	if err != nil {
		a = failure(err)
	}
	done(a.code)
	return a
}

// unresolved answers a path that names nothing: groups that are built in do it in their way.
func (srv *Server) unresolved(r *request) response {
	s := srv.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.collections[r.Ref.Resource]; c != nil && c.Custom && r.subresource != "" {
		return failure(apierrors.NewNotFound(r.Ref.Resource, r.Name))
	}
	for gr, c := range s.collections {
		if gr.Group == r.Ref.Resource.Group && !c.Custom && c.serves(r.version) {
			return failure(apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, false))
		}
	}
	return notFound()
}

func notFound() response {
	return response{code: http.StatusNotFound, body: []byte("404 page not found\n"), kind: plainType}
}

// resolve finds out what a path names.
func (srv *Server) resolve(r *request) bool {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		r.version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		r.Ref.Resource.Group, r.version, parts = parts[1], parts[2], parts[3:]
	default:
		return false
	}
	if parts[0] == namespacesResource && len(parts) > 2 && !isNamespaceSubresource(parts) {
		r.Namespace, parts = parts[1], parts[2:]
	}
	r.Ref.Resource.Resource = parts[0]
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 {
		r.subresource = strings.Join(parts[2:], "/")
	}
	if srv.isReview(r) {
		return true
	}
	c := srv.store.collection(r.Ref.Resource)
	if c == nil || !c.serves(r.version) || c.Namespaced && r.Name != "" && r.Namespace == "" || !c.Namespaced && r.Namespace != "" || !c.hasSubresource(r.subresource) {
		return false
	}
	r.collection = c
	return true
}

func isNamespaceSubresource(parts []string) bool {
	return len(parts) == 3 && (parts[2] == "status" || parts[2] == "finalize")
}

func (c *collection) hasSubresource(name string) bool {
	return name == "" || name == "status" && c.Status || name == "scale" && c.Scale || name == "finalize" && isNamespaces(c)
}

func verbOf(r *request) string {
	named := r.Name != ""
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		switch watching := r.URL.Query().Get("watch"); {
		case named:
			return "get"
		case watching == "true" || watching == "1":
			return "watch"
		}
		return "list"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if named {
			return "delete"
		}
		return "deletecollection"
	}
	return strings.ToLower(r.Method)
}

func (r *request) allowedAs() Ref {
	ref := r.Ref
	if r.subresource != "" {
		ref.Resource.Resource += "/" + r.subresource
	}
	return ref
}

func (srv *Server) answer(r *request) (response, error) {
	if !srv.allows(r.verb, r.allowedAs(), r.UserAgent()) {
		return response{}, apierrors.NewForbidden(r.Ref.Resource, r.Name, errors.New(forbidden(r)))
	}
	if len(r.body) > maxBody {
		return response{}, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	if r.collection == nil {
		return srv.review(r)
	}
	r.partial = wantsMetadata(r)
	named := r.Name != ""
	switch {
	case r.verb == "get":
		return srv.get(r)
	case r.verb == "list":
		return srv.list(r)
	case r.verb == "watch":
		return srv.watch(r)
	case r.verb == "create" && (!named || r.collection.Custom):
		return srv.post(r)
	case r.verb == "update" && named:
		return srv.put(r)
	case r.verb == "patch" && named:
		return srv.patch(r)
	case r.verb == "delete" && r.subresource == "":
		return srv.remove(r)
	case r.verb == "deletecollection":
		return srv.removeAll(r)
	case !named && r.collection.Custom:
		return response{}, apierrors.NewBadRequest("name must be provided")
	}
	return response{}, apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, "", schema.GroupResource{}, "", "", 0, false)
}

// forbidden is forbiddenMessage of apiserver's responsewriters.
func forbidden(r *request) string {
	where := "at the cluster scope"
	if r.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", r.Namespace)
	}
	return fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", r.UserAgent(), r.verb, r.allowedAs().Resource.Resource, r.Ref.Resource.Group, where)
}

func (srv *Server) get(r *request) (response, error) {
	v := srv.store.get(r.Ref)
	if v == nil {
		return response{}, apierrors.NewNotFound(r.Ref.Resource, r.Name)
	}
	return r.written(http.StatusOK, v)
}

// object answers with a state of an object.
func (r *request) object(code int, v *revision) response {
	return response{code: code, kind: jsonType, body: v.write(nil, r.shape())}
}

const jsonType = "application/json"

// shape is how the request asks for single objects.
func (r *request) shape() shape {
	if r.partial {
		return shape{"PartialObjectMetadata", "meta.k8s.io/v1", true}
	}
	return shape{kind: r.collection.Kind, apiVersion: r.collection.apiVersion(r.version)}
}

// wantsMetadata reads the Accept header: the first clause that is JSON decides.
func wantsMetadata(r *request) bool {
	for clause := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		kind, parameters, err := mime.ParseMediaType(clause)
		if err == nil && (kind == jsonType || kind == "*/*" || kind == "application/*") {
			return strings.HasPrefix(parameters["as"], "PartialObjectMetadata")
		}
	}
	return false
}

// failure answers with a Status.
func failure(err error) response {
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
	if known := apierrors.APIStatus(nil); errors.As(err, &known) {
		status = known.Status()
	}
	return statusResponse(status)
}

func statusResponse(status metav1.Status) response {
	status.Kind, status.APIVersion = "Status", "v1"
	return response{code: int(status.Code), kind: jsonType, body: encode(status)}
}

// decodeBody decodes an object as unstructured does.
func decodeBody(data []byte) (Object, error) {
	var o Object
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	return o, nil
}
