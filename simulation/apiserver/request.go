package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
)

// write reads the options of a request that writes.
func (r *request) write() (write, error) {
	dryRun := r.URL.Query()["dryRun"]
	if errs := validation.ValidateCreateOptions(&metav1.CreateOptions{DryRun: dryRun}); len(errs) > 0 {
		kind := map[string]string{"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}[r.verb]
		return write{}, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
	}
	return write{subresource: r.subresource, dryRun: len(dryRun) > 0}, nil
}

func (srv *Server) post(r *request) (response, error) {
	w, o, err := r.sent()
	if err != nil {
		return response{}, err
	}
	v, err := srv.store.create(r.Ref.Resource, o, w)
	if err != nil {
		return response{}, err
	}
	return r.written(http.StatusCreated, v)
}

func (srv *Server) put(r *request) (response, error) {
	w, sent, err := r.sent()
	if err != nil {
		return response{}, err
	}
	code := http.StatusOK
	w.replaces = true
	v, err := srv.store.update(r.Ref, w, func(c *collection, old *revision) (Object, error) {
		o := runtime.DeepCopyJSON(sent)
		switch {
		case old == nil:
			code = http.StatusCreated
		case r.subresource == "scale":
			return c.scaled(o, old)
		case c.Unconditional:
			o = withVersion(o, old)
		}
		return o, nil
	})
	if err != nil {
		return response{}, err
	}
	return r.written(code, v)
}

// sent decodes and checks the body of a POST or PUT.
func (r *request) sent() (write, Object, error) {
	w, err := r.write()
	if err != nil {
		return w, nil, err
	}
	if kind := r.Header.Get("Content-Type"); kind != "" && !strings.HasPrefix(kind, jsonType) && (r.collection.Custom || kind != runtime.ContentTypeProtobuf) {
		return w, nil, errUnknownFormat("application/json, application/yaml, application/vnd.kubernetes.protobuf")
	}
	o, err := decodeBody(r.body)
	if err != nil {
		return w, nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): couldn't get version/kind; json parse error: %v (%x)", r.collection.Kind, err, r.body[:min(len(r.body), 15)]))
	}
	if metadata(o) == nil {
		o["metadata"] = map[string]any{}
	}
	return w, o, r.check(o)
}

func errUnknownFormat(accepted string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: " + accepted,
	}}
}

// check compares the body with the path.
func (r *request) check(o Object) error {
	if r.subresource == "scale" {
		return nil
	}
	c := r.collection
	if kind := text(o, "kind"); kind != c.Kind || text(o, "apiVersion") != c.apiVersion(r.version) {
		gv := text(o, "apiVersion")
		if c.Custom || kind == c.Kind && scheme.Scheme.IsVersionRegistered(schema.FromAPIVersionAndKind(gv, "").GroupVersion()) {
			return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", gv, c.apiVersion(r.version)))
		}
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: no kind %q is registered for version %q in scheme \"pkg/runtime/scheme.go:111\"",
			kind, schema.FromAPIVersionAndKind(gv, "").Version, c.Kind, kind, gv))
	}
	m := metadata(o)
	if text(m, "namespace") == "" && r.Namespace != "" {
		m["namespace"] = r.Namespace
	}
	if text(m, "namespace") != r.Namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if r.Name != "" && text(m, "name") == "" {
		m["name"] = r.Name
	}
	if r.Name != "" && text(m, "name") != r.Name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", text(m, "name"), r.Name))
	}
	return nil
}

func (r *request) written(code int, v *revision) (response, error) {
	if r.subresource == "scale" {
		scale, err := r.scaleOf(v)
		return jsonResponse(scale), err
	}
	return r.object(code, v), nil
}

func (r *request) deleteOptions() (metav1.DeleteOptions, error) {
	o := metav1.DeleteOptions{}
	if len(r.body) > 0 {
		if err := json.Unmarshal(r.body, &o); err != nil {
			return o, apierrors.NewBadRequest(err.Error())
		}
		return o, nil
	}
	if err := internalscheme.ParameterCodec.DecodeParameters(r.URL.Query(), metav1.SchemeGroupVersion, &o); err != nil {
		return o, apierrors.NewBadRequest(err.Error())
	}
	return o, nil
}

func (srv *Server) remove(r *request) (response, error) {
	o, err := r.deleteOptions()
	if err != nil {
		return response{}, err
	}
	v, gone, err := srv.store.delete(r.Ref, o)
	if err != nil {
		return response{}, err
	}
	if !gone || r.collection.ReturnsDeleted {
		return r.object(http.StatusOK, v), nil
	}
	return statusResponse(metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
		Name: r.Name, Group: r.Ref.Resource.Group, Kind: r.Ref.Resource.Resource, UID: types.UID(text(metadata(v.object), "uid")),
	}}).with(http.StatusOK), nil
}

func (a response) with(code int) response {
	a.code = code
	return a
}

// removeAll deletes what a list with the same options returns.
func (srv *Server) removeAll(r *request) (response, error) {
	o, err := r.options()
	if err != nil {
		return response{}, err
	}
	deletion, err := r.deleteOptions()
	if err != nil {
		return response{}, err
	}
	items, at, err := srv.state(r, o, page{})
	if err != nil {
		return response{}, err
	}
	selected := r.selection(o)
	for _, v := range items {
		if !selected.matches(v) {
			continue
		}
		_, _, err := srv.store.delete(Ref{r.Ref.Resource, v.namespace, v.name}, deletion)
		if err != nil && !apierrors.IsNotFound(err) {
			return response{}, err
		}
	}
	o.Limit = 0
	return r.listed(items, at, page{}, o), nil
}

// scaleOf is the subresource of an object (autoscaling/v1).
func (r *request) scaleOf(v *revision) (any, error) {
	m := &metav1.ObjectMeta{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(metadata(v.object), m); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	c := r.collection
	scale := autoscalingv1.Scale{
		TypeMeta:   metav1.TypeMeta{Kind: "Scale", APIVersion: "autoscaling/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion, CreationTimestamp: m.CreationTimestamp},
		Spec:       autoscalingv1.ScaleSpec{Replicas: replicas(v.object, c.SpecReplicas)},
		Status:     autoscalingv1.ScaleStatus{Replicas: replicas(v.object, c.StatusReplicas), Selector: c.selectorOf(v.object)},
	}
	if r.partial {
		return metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}, ObjectMeta: scale.ObjectMeta}, nil
	}
	return scale, nil
}

func replicas(o Object, path string) int32 {
	n, _, _ := unstructured.NestedInt64(o, strings.Split(path, ".")...)
	return int32(n)
}

func (c *collection) selectorOf(o Object) string {
	value, _, _ := unstructured.NestedFieldNoCopy(o, strings.Split(c.LabelSelector, ".")...)
	switch value := value.(type) {
	case string:
		return value
	case map[string]any:
		selector := &metav1.LabelSelector{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(value, selector) == nil {
			return metav1.FormatLabelSelector(selector)
		}
	}
	return ""
}

// scaled is the object after its scale was written.
func (c *collection) scaled(scale Object, old *revision) (Object, error) {
	o := runtime.DeepCopyJSON(old.object)
	n, _, err := unstructured.NestedInt64(scale, "spec", "replicas")
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	m := metadata(o)
	for _, key := range []string{"resourceVersion", "uid"} {
		if given := text(metadata(scale), key); given != "" {
			m[key] = given
		}
	}
	return o, unstructured.SetNestedField(o, n, slices.Clone(strings.Split(c.SpecReplicas, "."))...)
}
