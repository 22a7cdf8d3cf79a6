package watch

import (
	"bytes"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// NewClient returns a dynamic client that decodes in one pass what it receives: an object, a list, and each event of a watch. client-go's
// own reads an event four times before it decodes the object, and a list six times.
func NewClient(config *rest.Config) (dynamic.Interface, error) {
	config = dynamic.ConfigFor(config)
	config.NegotiatedSerializer = serializer{config.NegotiatedSerializer}
	config.APIPath, config.GroupVersion = "/", nil
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return dynamic.New(client), nil
}

// serializer is that of client-go's dynamic client, except for the decoding.
type serializer struct{ runtime.NegotiatedSerializer }

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s serializer) SupportedMediaTypes() []runtime.SerializerInfo {
	types := slices.Clone(s.NegotiatedSerializer.SupportedMediaTypes())
	for i, t := range types {
		if t.MediaType != runtime.ContentTypeJSON || t.StreamSerializer == nil {
			continue
		}
		stream := *t.StreamSerializer
		stream.Serializer, stream.Framer = eventDecoder{stream.Serializer}, lineFramer{stream.Framer}
		types[i].Serializer, types[i].StreamSerializer = objectDecoder{t.Serializer}, &stream
	}
	return types
}

// eventDecoder decodes the frames of a watch.
type eventDecoder struct{ runtime.Serializer }

// Decode implements runtime.Decoder. The event's object aliases data.
func (d eventDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if event, ok := into.(*metav1.WatchEvent); ok {
		if kind, object, ok := splitEvent(data); ok {
			event.Type, event.Object.Raw = kind, object
			return into, defaults, nil
		}
	}
	return d.Serializer.Decode(data, defaults, into)
}

// splitEvent splits a frame that has the form in which the API server writes it: the
// type, the object, and no more (metav1.WatchEvent).
func splitEvent(frame []byte) (kind string, object []byte, ok bool) {
	rest, begins := bytes.CutPrefix(frame, []byte(frameStart))
	word, rest, follows := bytes.Cut(rest, []byte(`","object":`))
	object, ends := bytes.CutSuffix(bytes.TrimRight(rest, "\n"), []byte("}"))
	return string(word), object, begins && follows && ends && !bytes.ContainsAny(word, `"\`)
}

// objectDecoder decodes objects and lists, and leaves everything else to the decoder that it embeds.
type objectDecoder struct{ runtime.Serializer }

// Decode implements runtime.Decoder. An object of a watch has no into.
func (d objectDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	target, isUnstructured := into.(runtime.Unstructured)
	if into == nil && defaults == nil {
		target, isUnstructured = &unstructured.Unstructured{}, true
	}
	if isUnstructured && decode(data, target) {
		gvk := target.GetObjectKind().GroupVersionKind()
		return target, &gvk, nil
	}
	return d.Serializer.Decode(data, defaults, into)
}

// decode reports whether data is an object, or a list, of the usual form.
func decode(data []byte, into runtime.Unstructured) bool {
	u := unstructured.Unstructured{}
	if err := json.Unmarshal(data, &u.Object); err != nil || !isObject(u) {
		return false
	}
	if list, isList := into.(*unstructured.UnstructuredList); isList {
		return fill(list, u)
	}
	into.SetUnstructuredContent(u.Object)
	return true
}

// fill makes a list of what was decoded. The API server omits the kind of the items of its own kinds.
func fill(list *unstructured.UnstructuredList, u unstructured.Unstructured) bool {
	items, isList := u.Object["items"].([]any)
	if !isList {
		return false
	}
	delete(u.Object, "items")
	list.Object, list.Items = u.Object, make([]unstructured.Unstructured, len(items))
	for i, item := range items {
		fields, isObject := item.(map[string]any)
		if !isObject {
			return false
		}
		list.Items[i].Object = fields
		if list.Items[i].GetKind() == "" && list.Items[i].GetAPIVersion() == "" {
			list.Items[i].SetAPIVersion(list.GetAPIVersion())
			list.Items[i].SetKind(strings.TrimSuffix(list.GetKind(), "List"))
		}
	}
	return true
}

// isObject returns false for what neither a cache nor a list keeps, such as the Status that ends a watch.
func isObject(u unstructured.Unstructured) bool {
	return u.GetKind() != "" && u.GetAPIVersion() != "" && !(u.GetAPIVersion() == "v1" && u.GetKind() == "Status")
}
