package mirror

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/render"
)

// workClient writes Works as bytes and has the answers reduced to metadata: the
// API server need not send back what was sent to it.
type workClient struct {
	rest rest.Interface
}

// WorksResource is where Works are.
var WorksResource = render.WorksResource

// OurWorks is the label selector of the Works that are claimed as ours.
const OurWorks = render.ManagedByLabel + "=" + render.ManagedByValue

const (
	acceptMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

func newWorkClient(config *rest.Config) (workClient, error) {
	scheme := runtime.NewScheme()
	gv := WorksResource.GroupVersion()
	metav1.AddToGroupVersion(scheme, gv)
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	config = rest.CopyConfig(config)
	config.APIPath = "/apis"
	config.GroupVersion = &gv
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType = runtime.ContentTypeJSON
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return workClient{}, fmt.Errorf("cannot make a client for Works: %w", err)
	}
	return workClient{client}, nil
}

func (c workClient) create(ctx context.Context, namespace string, body []byte) (receipt, error) {
	return c.do(ctx, acceptMetadata, c.rest.Post().Namespace(namespace).Resource(WorksResource.Resource).Body(body))
}

func (c workClient) patch(ctx context.Context, namespace, name string, body []byte) (receipt, error) {
	return c.do(ctx, acceptMetadata, c.rest.Patch(types.MergePatchType).Namespace(namespace).Resource(WorksResource.Resource).Name(name).Body(body))
}

// delete deletes exactly the Work that was examined: not a later one of that
// name, and not one that has changed since.
func (c workClient) delete(ctx context.Context, w *Work) error {
	err := c.deleteVersion(ctx, w, w.ResourceVersion)
	if err == nil || !isTooLarge(err) {
		return err
	}
	// A deletion adds a timestamp, for which etcd has no room.
	version, err := c.shrink(ctx, w)
	if err != nil {
		return fmt.Errorf("cannot make it small enough for a deletion: %w", err)
	}
	return c.deleteVersion(ctx, w, version)
}

func (c workClient) deleteVersion(ctx context.Context, w *Work, version string) error {
	body, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions: &metav1.Preconditions{UID: &w.UID, ResourceVersion: &version},
	})
	if err != nil {
		return fmt.Errorf("cannot encode the deletion: %w", err)
	}
	return c.rest.Delete().Namespace(w.Namespace).Resource(WorksResource.Resource).Name(w.Name).Body(body).Do(ctx).Error()
}

// shrink leaves of exactly this Work what its deletion needs, and returns its version.
func (c workClient) shrink(ctx context.Context, w *Work) (version string, err error) {
	obj, err := c.getObject(ctx, w.Namespace, w.Name)
	if err != nil {
		return "", err
	}
	patch, err := render.Shrink(obj.Object, w.Source, w.ResourceVersion)
	if err != nil {
		return "", err
	}
	shrunk, err := c.patch(ctx, w.Namespace, w.Name, patch)
	return shrunk.version, err
}

// get reads a Work that may not bear our label, and so may not be in the cache.
func (c workClient) get(ctx context.Context, namespace, name string) (*Work, error) {
	obj, err := c.getObject(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return NewWork(obj), nil
}

func (c workClient) getObject(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	raw, err := c.rest.Get().Namespace(namespace).Resource(WorksResource.Resource).Name(name).Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(raw); err != nil {
		return nil, err
	}
	return obj, nil
}

// version reads the API server's present resource version by a quorum read.
func (c workClient) version(ctx context.Context) (string, error) {
	answer, err := c.do(ctx, acceptMetadataList, c.rest.Get().Resource(WorksResource.Resource).Param("limit", "1"))
	return answer.version, err
}

// receipt is what of the API server's answer to a write matters.
type receipt struct {
	version    string
	generation int64
}

func (c workClient) do(ctx context.Context, accept string, request *rest.Request) (receipt, error) {
	result := request.SetHeader("Accept", accept).Do(ctx)
	if err := result.Error(); err != nil {
		return receipt{}, err
	}
	raw, err := result.Raw()
	if err != nil {
		return receipt{}, err
	}
	// Of a list only the version is wanted.
	var answer struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
			Generation      int64  `json:"generation"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return receipt{}, fmt.Errorf("cannot read the API server's answer: %w", err)
	}
	return receipt{answer.Metadata.ResourceVersion, answer.Metadata.Generation}, nil
}
