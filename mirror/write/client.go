package write

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Client writes Works as bytes and requests only metadata in the answers: the API server
// need not send back what it was sent.
type Client struct {
	rest rest.Interface
}

const (
	acceptMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// NewClient creates a Client.
func NewClient(config *rest.Config) (Client, error) {
	scheme := runtime.NewScheme()
	gv := render.WorksResource.GroupVersion()
	metav1.AddToGroupVersion(scheme, gv)
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	config = rest.CopyConfig(config)
	config.APIPath = "/apis"
	config.GroupVersion = &gv
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType = runtime.ContentTypeJSON
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return Client{}, fmt.Errorf("cannot create a client for Works: %w", err)
	}
	return Client{client}, nil
}

func (c Client) create(ctx context.Context, namespace string, body []byte) (memory.Receipt, error) {
	return c.write(ctx, c.rest.Post().Namespace(namespace).Resource(render.WorksResource.Resource).Body(body))
}

// mayCreate returns nil if a Work would be created if there were none of its name, and changes nothing: an API server looks for that
// once admission has taken the new one.
func (c Client) mayCreate(ctx context.Context, namespace string, body []byte) error {
	_, err := c.write(ctx, c.rest.Post().Namespace(namespace).Resource(render.WorksResource.Resource).Param("dryRun", metav1.DryRunAll).Body(body))
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// patch sends a merge patch or, if that would lose content, replaces what it changes of the live Work.
func (c Client) patch(ctx context.Context, namespace, name string, body []byte) (answer memory.Receipt, err error) {
	kind := types.MergePatchType
	if render.LosesNulls(body) {
		kind = types.JSONPatchType
		if body, err = c.replacement(ctx, namespace, name, body); err != nil {
			return answer, err
		}
	}
	return c.write(ctx, c.rest.Patch(kind).Namespace(namespace).Resource(render.WorksResource.Resource).Name(name).Body(body))
}

func (c Client) replacement(ctx context.Context, namespace, name string, mergePatch []byte) ([]byte, error) {
	inTime, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	live, err := c.getObject(inTime, namespace, name)
	if err != nil {
		return nil, err
	}
	return render.Replacement(live.Object, mergePatch)
}

// Deadline is how long a write may take, which holds up the source's next change and a slot. It is longer than an API
// server takes: that gives up after a minute (--request-timeout), with all webhooks, of which one may take 30 s. What has no
// answer then never gets one, as behind a proxy that swallows requests.
const Deadline = 65 * time.Second

func (c Client) write(ctx context.Context, request *rest.Request) (memory.Receipt, error) {
	inTime, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	return c.do(inTime, acceptMetadata, request)
}

// ErrPrepared reports that a Work was changed instead of deleted: it was shrunk, because etcd has no room for the timestamp
// that a deletion adds, or separated from its object. It can be deleted as it is now, if it is still unwanted.
var ErrPrepared error = preparation{errors.New("the Work was prepared for its deletion: try again")}

// preparation is an error, or the success, of preparing a Work for its deletion: it has not been deleted.
type preparation struct{ error }

func (p preparation) Unwrap() error { return p.error }

// deletionDeadline is how long a deletion may take. A queue or a webhook may hold the request on
// the API server while what its proof rests on changes. The API server drops a request whose
// client no longer waits.
const deletionDeadline = 5 * time.Second

// Delete deletes exactly the Work that was examined: not a later one of that name, and not
// one that has changed since. It sends the request at once, waits no longer than
// deletionDeadline, and never retries: its proof holds only now, so a caller that the API server
// throttles must prove the deletion again.
//
// Karmada's finalizer goes first if Karmada must not touch the object: because the caller says so, or because the Work preserves
// it and is suspended, or has not been applied. To leave an object, Karmada applies the Work, without its labels
// (cleanupPolicyClaimMetadata in pkg/controllers/execution/execution_controller.go, v1.18.2).
func (c Client) Delete(ctx context.Context, w *state.Work, leavesObject bool) error {
	leavesObject = leavesObject || w.Source.GroupKind() == state.DefinitionKind // whatever the Work says
	if (leavesObject || w.Preserves() && !w.IsInPlace()) && slices.Contains(w.Finalizers, render.ExecutionFinalizer) {
		if _, err := c.patch(ctx, w.Namespace, w.Name, render.Detach(w.ResourceVersion, w.Finalizers)); err != nil {
			return preparation{fmt.Errorf("cannot separate the Work from its object: %w", err)}
		}
		return ErrPrepared
	}
	body, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions: &metav1.Preconditions{UID: &w.UID, ResourceVersion: &w.ResourceVersion},
	})
	if err != nil {
		return fmt.Errorf("cannot encode the deletion: %w", err)
	}
	inTime, cancel := context.WithTimeout(ctx, deletionDeadline)
	defer cancel()
	err = c.rest.Delete().Namespace(w.Namespace).Resource(render.WorksResource.Resource).Name(w.Name).Body(body).
		MaxRetries(0).Throttle(nil).Do(inTime).Error()
	if err == nil || !isTooLarge(err) {
		return err
	}
	version, shrinkErr := c.shrink(ctx, w)
	switch {
	case shrinkErr != nil:
		return preparation{fmt.Errorf("cannot shrink the Work for its deletion: %w", shrinkErr)}
	case version == w.ResourceVersion: // there is nothing to remove
		return err
	}
	return ErrPrepared
}

// shrink reduces exactly this Work to what its deletion needs, and returns its version.
func (c Client) shrink(ctx context.Context, w *state.Work) (version string, err error) {
	obj, err := c.getObject(ctx, w.Namespace, w.Name)
	if err != nil {
		return "", err
	}
	patch, err := render.Shrink(obj.Object, w.Source, w.ResourceVersion)
	if err != nil {
		return "", err
	}
	shrunk, err := c.patch(ctx, w.Namespace, w.Name, patch)
	return shrunk.Version, err
}

// IsDoubled reports whether another owner's Work carries the object of a Work, too, by a live read: Karmada would delete the
// object with either. Ours then has the longer name, and the other one Karmada's.
func (c Client) IsDoubled(ctx context.Context, w *state.Work) (bool, error) {
	if !w.IsLong() {
		return false, nil
	}
	other, err := c.Get(ctx, w.Namespace, w.Source.WorkName())
	switch {
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("cannot tell whether another owner's Work carries the object of Work %s/%s: %w", w.Namespace, w.Name, err)
	}
	return other.Foreign != "" && other.Carries() == w.Source && !other.Terminating, nil
}

// Get reads a Work that may lack our label, and so be missing in the cache.
func (c Client) Get(ctx context.Context, namespace, name string) (*state.Work, error) {
	obj, err := c.getObject(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return state.NewWork(obj), nil
}

func (c Client) getObject(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	result := c.rest.Get().Namespace(namespace).Resource(render.WorksResource.Resource).Name(name).Do(ctx)
	if err := result.Error(); err != nil { // says more than that of Raw
		return nil, err
	}
	raw, err := result.Raw()
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(raw); err != nil {
		return nil, err
	}
	return obj, nil
}

// Version reads the API server's current resource version by a quorum read.
func (c Client) Version(ctx context.Context) (string, error) {
	answer, err := c.do(ctx, acceptMetadataList, c.rest.Get().Resource(render.WorksResource.Resource).Param("limit", "1"))
	return answer.Version, err
}

func (c Client) do(ctx context.Context, accept string, request *rest.Request) (memory.Receipt, error) {
	result := request.SetHeader("Accept", accept).Do(ctx)
	if err := result.Error(); err != nil {
		return memory.Receipt{}, err
	}
	raw, err := result.Raw()
	if err != nil {
		return memory.Receipt{}, err
	}
	// Of a list we need only the version.
	var answer struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
			Generation      int64  `json:"generation"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return memory.Receipt{}, fmt.Errorf("cannot read the API server's answer: %w", err)
	}
	return memory.Receipt{Version: answer.Metadata.ResourceVersion, Generation: answer.Metadata.Generation}, nil
}
