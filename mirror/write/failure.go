package write

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// permanentRefusal recognizes a failed operation that only a change of the object, or of the
// daemon's rights, can fix. Its message says what to do and repeats no value of the
// manifest, because more people may read an Event than a Secret.
func permanentRefusal(err error, op judge.Operation) (judge.Refusal, bool) {
	if op.Kind.WritesContent() {
		if r, ok := contentRefusal(err, op.Cluster); ok {
			return r, true
		}
	}
	verb := "write"
	if op.Kind.Deletes() && !errors.As(err, &preparation{}) {
		verb = "delete"
	}
	switch {
	case IsDenied(err):
		return judge.Refusal{Reason: judge.NotAuthorized, Denied: judge.ByAdmission, Message: fmt.Sprintf("%s does not let karmada-mirror %s the Work for cluster %q: check its rules", denier(err), verb, op.Cluster)}, true
	case apierrors.IsForbidden(err) && quota.MatchString(err.Error()):
		return judge.Refusal{Reason: judge.NotAuthorized, Denied: judge.ByAdmission, Message: fmt.Sprintf("quota %q in namespace %s does not let karmada-mirror %s the Work for cluster %q: raise it",
			quota.FindStringSubmatch(err.Error())[1], render.ExecutionNamespace(op.Cluster), verb, op.Cluster)}, true
	case apierrors.IsForbidden(err) && !isNamespaceTerminating(err):
		return judge.Refusal{Reason: judge.NotAuthorized, Denied: judge.ByAuthorization, Message: fmt.Sprintf("karmada-mirror may not %s Works for cluster %q: check its ClusterRole", verb, op.Cluster)}, true
	}
	return judge.Refusal{}, false
}

// contentRefusal recognizes a failed write whose content is to blame.
func contentRefusal(err error, cluster string) (judge.Refusal, bool) {
	switch {
	case isTooLarge(err):
		return judge.Refusal{Reason: judge.TooLarge, Denied: judge.BySize, Message: fmt.Sprintf("the Work for cluster %q exceeds the size that the API server or etcd accepts (1.5 MiB by default): make the object smaller", cluster)}, true
	case IsDenied(err):
		return judge.Refusal{Reason: judge.RenderFailed, Denied: judge.ByAdmission, Message: fmt.Sprintf("%s rejects the Work for cluster %q; its message is omitted because it may quote the object: to see it, pipe the output of `karmada-mirror render` to `kubectl apply --dry-run=server -f -`", denier(err), cluster)}, true
	case apierrors.IsInvalid(err):
		return judge.Refusal{Reason: judge.RenderFailed, Denied: judge.ByValidation, Message: fmt.Sprintf("the API server rejects the Work for cluster %q as invalid in %s", cluster, invalidFields(err))}, true
	}
	return judge.Refusal{}, false
}

// mayHaveHappened reports whether a failed request may have been carried out: no answer has come,
// or the API server itself does not know. A Work that was only prepared for its deletion has not been deleted.
func mayHaveHappened(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &preparation{}) && (!errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError)
}

func isNamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, "NamespaceTerminating")
}

// isTooLarge recognizes the three rejections by size: by the API server's body limit, by
// etcd's request limit and by the limit of the gRPC client.
func isTooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) ||
		strings.Contains(err.Error(), "request is too large") ||
		strings.Contains(err.Error(), "trying to send message larger than max")
}

// denial matches how the API server names the plugin that denied a request, before the
// plugin's own message, which may quote the object (k8s.io/apiserver/pkg/admission/plugin,
// v0.35.4).
var denial = regexp.MustCompile(`(admission webhook "[a-z0-9.-]+") denied the request|(ValidatingAdmissionPolicy '[a-z0-9.-]+')( with binding '[a-z0-9.-]+')? denied request`)

// quota matches the quota that rejected a request (pkg/admission/plugin/resourcequota/controller.go of k8s.io/apiserver,
// v0.35.4).
var quota = regexp.MustCompile(`exceeded quota: ([a-z0-9.-]+)`)

// IsDenied reports whether an admission plugin denied the request, as opposed to being
// unreachable. Karmada's webhook answers 500 to what it cannot parse.
func IsDenied(err error) bool { return denier(err) != "" }

// denier returns the webhook or policy that denied the request; empty if none did.
func denier(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code == http.StatusTooManyRequests {
		return ""
	}
	said := denial.FindStringSubmatch(status.Status().Message)
	if said == nil {
		return ""
	}
	return said[1] + said[2]
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
