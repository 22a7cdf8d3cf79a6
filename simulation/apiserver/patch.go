package apiserver

import (
	"fmt"
	"mime"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/json"
)

func (srv *Server) patch(r *request) (response, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || !r.accepts(types.PatchType(kind)) {
		return response{}, r.unsupported()
	}
	w, err := r.write()
	if err != nil {
		return response{}, err
	}
	var patched string
	w.undecodable = func(err error) error {
		return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), patched, err.Error())})
	}
	v, err := srv.store.update(r.Ref, w, func(c *collection, old *revision) (Object, error) {
		before, err := r.current(old)
		if err != nil {
			return nil, err
		}
		after, err := r.apply(types.PatchType(kind), before)
		if err != nil {
			return nil, err
		}
		patched = string(after)
		o, err := decodeBody(after)
		if err == nil && r.subresource != "scale" && (text(o, "kind") != c.Kind || text(o, "apiVersion") != c.apiVersion(r.version)) {
			err = fmt.Errorf("no kind %q is registered for version %q", text(o, "kind"), text(o, "apiVersion"))
		}
		if err != nil {
			return nil, w.undecodable(err)
		}
		if r.subresource == "scale" {
			return c.scaled(o, old)
		}
		return o, r.check(o)
	})
	if err != nil {
		return response{}, err
	}
	return r.written(http.StatusOK, v)
}

// current is the object that is patched.
func (r *request) current(old *revision) ([]byte, error) {
	if r.subresource == "scale" {
		whole := *r
		whole.partial = false
		scale, err := whole.scaleOf(old)
		return encode(scale), err
	}
	return old.write(nil, shape{kind: r.collection.Kind, apiVersion: r.collection.apiVersion(r.version)}), nil
}

func (r *request) accepts(kind types.PatchType) bool {
	switch kind {
	case types.JSONPatchType, types.MergePatchType:
		return true
	case types.StrategicMergePatchType:
		return !r.collection.Custom
	}
	return false
}

func (r *request) unsupported() error {
	if !r.collection.Custom {
		err := errUnknownFormat("")
		err.ErrStatus.Message, err.ErrStatus.Details = "415: Unsupported Media Type", &metav1.StatusDetails{}
		return err
	}
	return errUnknownFormat("application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
}

// operation is what a JSON patch consists of.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// apply is the patch itself, by the libraries that kube-apiserver uses.
func (r *request) apply(kind types.PatchType, before []byte) ([]byte, error) {
	switch kind {
	case types.JSONPatchType:
		if _, err := json.UnmarshalStrict(r.body, &[]operation{}); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		patch, err := jsonpatch.DecodePatch(r.body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		after, err := patch.Apply(before)
		if err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
		}
		return after, nil
	case types.MergePatchType:
		if _, err := json.UnmarshalStrict(r.body, &map[string]any{}); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		after, err := jsonpatch.MergePatch(before, r.body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return after, nil
	}
	typed, err := scheme.Scheme.New(schema.GroupVersionKind{Group: r.collection.Group, Version: r.version, Kind: r.collection.Kind})
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, r.body, typed)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return after, nil
}
