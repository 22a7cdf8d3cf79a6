package mirror

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// permanentRefusal recognizes a failed write that only a change of the object,
// or of the daemon's rights, can mend. Its message says what to do and repeats
// no value of the manifest: an Event is readable to more people than a Secret.
func permanentRefusal(err error, cluster string) (Refusal, bool) {
	switch {
	case isTooLarge(err):
		return Refusal{Reason: TooLarge, Message: fmt.Sprintf("the Work for cluster %q exceeds the size that the API server or etcd accepts (1.5 MiB by default): make the object smaller", cluster)}, true
	case apierrors.IsInvalid(err):
		return Refusal{Reason: RenderFailed, Message: fmt.Sprintf("the API server refuses the Work for cluster %q as invalid in %s", cluster, invalidFields(err))}, true
	case isDenied(err):
		return Refusal{Reason: RenderFailed, Message: fmt.Sprintf("an admission webhook or policy refuses the Work for cluster %q (%s): see the log of karmada-webhook", cluster, denier(err))}, true
	case apierrors.IsForbidden(err) && !isNamespaceTerminating(err):
		return Refusal{Reason: NotAuthorized, Message: fmt.Sprintf("karmada-mirror may not write Works for cluster %q: check its ClusterRole", cluster)}, true
	}
	return Refusal{}, false
}

func isNamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, "NamespaceTerminating")
}

// isTooLarge knows the three ways in which size is refused: by the API server's
// body limit, by etcd's request limit and by the limit of the gRPC client.
func isTooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) ||
		strings.Contains(err.Error(), "request is too large") ||
		strings.Contains(err.Error(), "trying to send message larger than max")
}

// isDenied reports whether an admission plugin said no, as opposed to not
// having been reached. Karmada's webhook answers 500 to what it cannot parse.
func isDenied(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code == http.StatusTooManyRequests {
		return false
	}
	return strings.Contains(status.Status().Message, "denied the request")
}

// denier extracts the part of the message that names the webhook or policy.
func denier(err error) string {
	name, _, _ := strings.Cut(err.Error(), " denied the request")
	return fmt.Sprintf("%.120s", strings.ReplaceAll(name, "\n", " "))
}

func invalidFields(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return "an unnamed field"
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		fields = append(fields, cause.Field)
	}
	slices.Sort(fields)
	return strings.Join(slices.Compact(fields), ", ")
}
