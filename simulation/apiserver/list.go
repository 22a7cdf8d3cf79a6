package apiserver

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// SetLag makes the server's watch cache of a resource late: its watches, and lists of any
// version.
func (srv *Server) SetLag(gr schema.GroupResource, lag time.Duration) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.lags[gr] = lag
	close(srv.lagged)
	srv.lagged = make(chan struct{})
}

// cached returns the revision that the watch cache has reached, and when it gets further, if
// it lags. The store is locked.
func (srv *Server) cachedLocked(c *collection) (revision int64, next time.Duration) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	gr := c.GroupResource()
	revision = srv.store.revision
	if lag := srv.lags[gr]; lag > 0 {
		known := time.Now().Add(-lag)
		i, _ := slices.BinarySearchFunc(c.events, known, func(e *change, at time.Time) int {
			if e.at.After(at) {
				return 1
			}
			return -1
		})
		if i < len(c.events) {
			revision, next = c.events[i].revision-1, c.events[i].at.Sub(known)
		}
	}
	if srv.seen[gr] > revision && srv.seen[gr] <= srv.store.revision {
		revision = srv.seen[gr]
	}
	srv.seen[gr] = revision
	return revision, next
}

// options decodes and validates what a list or watch asks for.
func (r *request) options() (*internalversion.ListOptions, error) {
	o := &internalversion.ListOptions{}
	if err := internalscheme.ParameterCodec.DecodeParameters(r.URL.Query(), metav1.SchemeGroupVersion, o); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	internalversion.SetListOptionsDefaults(o, true)
	if errs := validation.ValidateListOptions(o, true); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	if o.LabelSelector == nil {
		o.LabelSelector = labels.Everything()
	}
	if o.FieldSelector == nil {
		o.FieldSelector = fields.Everything()
	}
	for _, requirement := range o.FieldSelector.Requirements() {
		if !r.collection.selectable(requirement.Field) {
			return nil, apierrors.NewBadRequest(r.collection.unselectable(requirement.Field))
		}
	}
	return o, nil
}

// eventFields are the fields by which Events are selected.
func eventFields() []string {
	return []string{
		"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion",
		"involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type",
	}
}

func (c *collection) selectable(field string) bool {
	switch {
	case field == "metadata.name" || field == "metadata.namespace":
		return true
	case c.Group != "":
		return false
	}
	switch c.Resource.Resource {
	case "events":
		return slices.Contains(eventFields(), field)
	case "secrets":
		return field == "type"
	case namespacesResource:
		return field == "status.phase" || field == "name"
	case "pods":
		return field == "spec.nodeName" || field == "status.phase"
	}
	return false
}

func (c *collection) unselectable(field string) string {
	if c.Custom || c.Group == "" && slices.Contains([]string{"namespaces", "nodes", "pods", "events", "secrets", "services"}, c.Resource.Resource) {
		return fmt.Sprintf("field label not supported: %s", field)
	}
	return fmt.Sprintf("%q is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", field)
}

// selection decides whether an object is listed or watched.
type selection struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func (r *request) selection(o *internalversion.ListOptions) selection {
	return selection{r.Namespace, o.LabelSelector, o.FieldSelector}
}

func (s selection) matches(v *revision) bool {
	if v == nil || s.namespace != "" && v.namespace != s.namespace || !s.labels.Matches(v.labels) {
		return false
	}
	return s.fields.Empty() || s.fields.Matches(selectableFields{v})
}

type selectableFields struct{ *revision }

// Has implements fields.Fields.
func (f selectableFields) Has(string) bool { return true }

// Get implements fields.Fields.
func (f selectableFields) Get(field string) string {
	if field == "source" {
		field = "source.component"
	}
	value, _, _ := unstructured.NestedString(f.object, strings.Split(field, ".")...)
	return value
}

// page is the continue token of kube-apiserver: where to go on, at a revision, or at the
// newest one if that is negative.
type page struct {
	Version  string `json:"v"`
	Revision int64  `json:"rv"`
	Start    string `json:"start"`
}

const pageVersion = "meta.k8s.io/v1"

func parsePage(token string) (page, error) {
	p := page{}
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("continue key is not valid: %w", err)
	case p.Version != pageVersion:
		err = fmt.Errorf("continue key is not valid: server does not recognize this encoded version %s", p.Version)
	default:
		return p, nil
	}
	return p, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %v", err))
}

func (p page) token() string {
	p.Version = pageVersion
	return base64.RawURLEncoding.EncodeToString(encode(p))
}

// maxWait is how long a list waits for a watch cache that lags.
const maxWait = 3 * time.Second

func (srv *Server) list(r *request) (response, error) {
	o, err := r.options()
	if err != nil {
		return response{}, err
	}
	from := page{}
	if o.Continue != "" {
		if from, err = parsePage(o.Continue); err != nil {
			return response{}, err
		}
		if o.ResourceVersion != "" && o.ResourceVersion != "0" {
			return response{}, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
		}
	}
	if _, single := o.FieldSelector.RequiresExactMatch("metadata.name"); single {
		from, o.Limit = page{}, 0
	}
	items, at, err := srv.state(r, o, from)
	if err != nil {
		return response{}, err
	}
	return r.listed(items, at, from, o), nil
}

// state is what a list reads, and its revision.
func (srv *Server) state(r *request, o *internalversion.ListOptions, from page) ([]*revision, int64, error) {
	s := srv.store
	wanted, err := strconv.ParseUint(cmp.Or(o.ResourceVersion, "0"), 10, 64)
	if err != nil {
		return nil, 0, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", invalidVersion(o.ResourceVersion, err)))
	}
	exactly := from.Revision
	if o.ResourceVersionMatch == metav1.ResourceVersionMatchExact || o.ResourceVersionMatch == "" && o.Limit > 0 && wanted > 0 {
		exactly = int64(wanted)
	}
	if exactly == 0 && wanted > 0 {
		if err := srv.await(r, int64(wanted)); err != nil {
			return nil, 0, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.collections[r.Ref.Resource]
	if c == nil {
		return nil, 0, errNotServed(r.Ref.Resource)
	}
	at := s.revision
	switch {
	case exactly > 0:
		at = exactly
	case exactly == 0 && o.ResourceVersion != "":
		at, _ = srv.cachedLocked(c)
	}
	if at > s.revision {
		return nil, 0, tooLarge(at, s.revision)
	}
	items, ok := c.at(r.Namespace, at)
	if !ok {
		return nil, 0, expired(from)
	}
	return items, at, nil
}

// expired is the error for a state that is forgotten. For a page, it has the token of the
// rest of the newest state.
func expired(from page) error {
	if from.Revision == 0 {
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	err := apierrors.NewResourceExpired("The provided continue parameter is too old " +
		"to display a consistent list result. You can start a new list without " +
		"the continue parameter, or use the continue token in this response to " +
		"retrieve the remainder of the results. Continuing with the provided " +
		"token results in an inconsistent list - objects that were created, " +
		"modified, or deleted between the time the first chunk was returned " +
		"and now may show up in the list.")
	err.ErrStatus.ListMeta.Continue = page{Revision: -1, Start: from.Start}.token()
	return err
}

func invalidVersion(version string, err error) *field.Error {
	return field.Invalid(field.NewPath("resourceVersion"), version, err.Error())
}

// await waits until the watch cache has reached a revision.
func (srv *Server) await(r *request, wanted int64) error {
	deadline := time.After(maxWait)
	for {
		srv.store.mu.Lock()
		c := srv.store.collections[r.Ref.Resource]
		if c == nil {
			srv.store.mu.Unlock()
			return errNotServed(r.Ref.Resource)
		}
		at, next := srv.cachedLocked(c)
		changed := c.changed
		srv.store.mu.Unlock()
		if at >= wanted {
			return nil
		}
		if next == 0 {
			next = maxWait
		}
		select {
		case <-r.Context().Done():
			return r.Context().Err()
		case <-deadline:
			return tooLarge(wanted, at)
		case <-changed:
		case <-time.After(next):
		}
	}
}

func tooLarge(wanted, at int64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, at), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

// at returns the objects of a namespace as they were at a revision, unless that is forgotten.
func (c *collection) at(namespace string, n int64) ([]*revision, bool) {
	if last := len(c.events); last == 0 || c.events[last-1].revision <= n {
		return c.in(namespace), n >= c.dropped || last > 0
	}
	if n < c.dropped {
		return nil, false
	}
	past := &collection{items: slices.Clone(c.items)}
	for i := len(c.events) - 1; i >= 0 && c.events[i].revision > n; i-- {
		past.undo(c.events[i])
	}
	return past.in(namespace), true
}

func (c *collection) undo(e *change) {
	about := e.new
	if about == nil {
		about = e.old
	}
	i, found := c.find(about.key)
	switch {
	case e.old == nil:
		c.items = slices.Delete(c.items, i, i+1)
	case found:
		c.items[i] = e.old
	default:
		c.items = slices.Insert(c.items, i, e.old)
	}
}

// listed encodes one page.
func (r *request) listed(items []*revision, at int64, from page, o *internalversion.ListOptions) response {
	c := r.collection
	selected := r.selection(o)
	item := shape{partial: r.partial}
	kind, apiVersion := c.ListKind, c.apiVersion(r.version)
	switch {
	case r.partial:
		item, kind, apiVersion = r.shape(), "PartialObjectMetadataList", "meta.k8s.io/v1"
	case c.Custom:
		item = r.shape()
	}
	if from.Start != "" {
		i, _ := (&collection{items: items}).find(from.Start)
		items = items[i:]
	}
	length := 0
	for _, v := range items {
		length += item.sizeOf(v)
	}
	body := make([]byte, 0, length)
	m := metav1.ListMeta{ResourceVersion: strconv.FormatInt(at, 10)}
	count := int64(0)
	for i, v := range items {
		if !selected.matches(v) {
			continue
		}
		if count++; count > 1 {
			body = append(body, ',')
		}
		body = v.write(body, item)
		if o.Limit == 0 || count < o.Limit {
			continue
		}
		if left := int64(len(items) - i - 1); left > 0 {
			m.Continue = page{Revision: at, Start: v.key + "\x00"}.token()
			if selected.labels.Empty() && selected.fields.Empty() {
				m.RemainingItemCount = &left
			}
		}
		break
	}
	meta := encode(m)
	if c.Custom && !r.partial && m.Continue == "" { // unstructured does not omit it
		meta = slices.Concat([]byte(`{"continue":"",`), meta[1:])
	}
	if body = slices.Concat([]byte("["), body, []byte("]")); r.partial && count == 0 {
		body = []byte("null")
	}
	head := fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":%s,"items":`, kind, apiVersion, meta)
	return response{code: http.StatusOK, kind: jsonType, body: slices.Concat(head, body, []byte("}\n"))}
}
