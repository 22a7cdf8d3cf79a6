package cli

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// otherCluster is what to do about a kubeconfig of an API server that is none of Karmada's.
const otherCluster = "this is the kubeconfig of another cluster: take the one of the Karmada API server (karmada-apiserver.config)"

// withHint adds to an error what to do about it, where that is known.
func withHint(err error) error {
	var noAnswer *url.Error
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err) && isViewers(err):
		return fmt.Errorf("%w: ask for the ClusterRole karmada-mirror-viewer", err)
	case apierrors.IsUnauthorized(err), errors.As(err, &noAnswer):
		return fmt.Errorf("%w\n  %s", err, connectionHint(err))
	}
	return err
}

// isViewers reports whether it is something that karmada-mirror-viewer may read. The objects
// themselves are not.
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
		return "certificate-authority in the kubeconfig is not the one that has signed the API server's certificate"
	case errors.As(err, new(x509.HostnameError)):
		return "the address in the kubeconfig is not in the API server's certificate: use one that is"
	case errors.As(err, new(x509.CertificateInvalidError)):
		return "the API server's certificate has run out, or one of the clocks is wrong"
	case apierrors.IsUnauthorized(err):
		return "the token or certificate in the kubeconfig is not valid, or not any more: make a new one, as manifests/README.md says"
	case apierrors.IsForbidden(err):
		return "whoever this is may not even impersonate or ask who they are: use another kubeconfig, or leave out --as"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "nothing answers in time: is the address right, and is there a NetworkPolicy or firewall in between?"
	}
	return "is the address in the kubeconfig right, as seen from here, and does the API server run?"
}
