package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// otherCluster is what to do about a kubeconfig for an API server that is not Karmada's.
const otherCluster = "this kubeconfig is for another cluster: use the Karmada API server's (karmada-apiserver.config)"

// errNotKarmada is returned for an API server that is not Karmada's, with the error that it led to.
var errNotKarmada = errors.New("it is not a Karmada API server\n  " + otherCluster)

// blameServer adds errNotKarmada to an error if something was missing or forbidden on an API server
// that does not serve Works. Every authenticated user may ask what is served.
func blameServer(ctx context.Context, client kubernetes.Interface, err error) error {
	if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return err
	}
	works := render.WorksResource
	if _, served, failure := resolve(ctx, client, works.GroupResource(), works.Version); failure != nil || served {
		return err
	}
	return fmt.Errorf("%w: %w", err, errNotKarmada)
}

// withHint adds to an error what to do about it, if that is known.
func withHint(err error) error {
	var noAnswer *url.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNotKarmada), errors.As(err, new(hinted)):
		return err
	case apierrors.IsForbidden(err) && isViewers(err):
		return hinted{fmt.Errorf("%w: ask for the ClusterRole karmada-mirror-viewer", err)}
	case apierrors.IsUnauthorized(err), errors.As(err, &noAnswer):
		return hinted{fmt.Errorf("%w\n  %s", err, connectionHint(err))}
	}
	return err
}

// hinted is an error that says what to do about it.
type hinted struct{ error }

func (h hinted) Unwrap() error { return h.error }

// isViewers reports whether the forbidden resource is one that karmada-mirror-viewer may read.
// The mirrored objects themselves are not.
func isViewers(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return true
	}
	details := status.Status().Details
	return details.Group == render.WorksResource.Group || details.Group == state.ClustersResource.Group || details.Kind == state.NamespacesResource.Resource
}

// connectionHint says what to do about an API server that does not answer.
func connectionHint(err error) string {
	var timeout net.Error
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "the certificate-authority in the kubeconfig did not sign the API server's certificate"
	case errors.As(err, new(x509.HostnameError)):
		return "the address in the kubeconfig is not in the API server's certificate: use one that is"
	case errors.As(err, new(x509.CertificateInvalidError)):
		return "the API server's certificate has expired, or one of the clocks is wrong"
	case apierrors.IsUnauthorized(err):
		return "the token or certificate in the kubeconfig is not valid, or no longer is: create a new one as manifests/README.md describes"
	case apierrors.IsForbidden(err):
		return "this user may not impersonate another, or may not even ask who they are: use another kubeconfig, or omit --as"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the request timed out: is the address right, and is there a NetworkPolicy or firewall in between?"
	}
	return "is the address in the kubeconfig right, as seen from here, and is the API server running?"
}
