package write

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

var worksGR = render.WorksResource.GroupResource()

func TestPermanentRefusal(t *testing.T) {
	const secret = "hunter2"
	denied := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Message: `admission webhook "work.karmada.io" denied the request: cannot unmarshal ` + secret,
	}}
	policy := apierrors.NewForbidden(worksGR, "x", errors.New("ValidatingAdmissionPolicy 'p.example' with binding 'b' denied request: "+secret))
	policy.ErrStatus.Reason, policy.ErrStatus.Code = metav1.StatusReasonInvalid, http.StatusUnprocessableEntity
	policy.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: secret}}
	terminating := apierrors.NewForbidden(worksGR, "x", errors.New("being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating"}}
	cases := map[string]struct {
		reason string
		err    error
		// want is the reason for refusing content, and deletes that for refusing a deletion.
		want, deletes judge.Reason
	}{
		"BodyTooLarge":  {"the API server's limit", apierrors.NewRequestEntityTooLargeError("limit is 3145728"), judge.TooLarge, ""},
		"EtcdTooLarge":  {"etcd's limit", apierrors.NewInternalError(errors.New("etcdserver: request is too large")), judge.TooLarge, ""},
		"Invalid":       {"a value is rejected", apierrors.NewInvalid(schema.GroupKind{Kind: "Work"}, "x", field.ErrorList{field.Invalid(field.NewPath("spec"), secret, "no")}), judge.RenderFailed, ""},
		"Denied":        {"the webhook cannot parse it", denied, judge.RenderFailed, judge.NotAuthorized},
		"Policy":        {"a policy's own message", policy, judge.RenderFailed, judge.NotAuthorized},
		"Forbidden":     {"a right is missing", apierrors.NewForbidden(worksGR, "x", errors.New("no")), judge.NotAuthorized, judge.NotAuthorized},
		"Quota":         {"the namespace is full", apierrors.NewForbidden(worksGR, "x", errors.New("exceeded quota: q, requested: count/works.work.karmada.io=1, used: count/works.work.karmada.io=5")), judge.NotAuthorized, judge.NotAuthorized},
		"Terminating":   {"the namespace is deleted with its cluster", terminating, "", ""},
		"Conflict":      {"a stale cache catches up", apierrors.NewConflict(worksGR, "x", errors.New("modified")), "", ""},
		"NoNamespace":   {"the cluster has just joined", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "karmada-es-m1"), "", ""},
		"Unavailable":   {"the API server restarts", apierrors.NewServiceUnavailable("restarting"), "", ""},
		"Throttled":     {"the API server throttles", apierrors.NewTooManyRequests("slow down", 1), "", ""},
		"NoConnection":  {"no answer at all", errors.New("connection refused"), "", ""},
		"WebhookIsAway": {"the webhook restarts", apierrors.NewInternalError(errors.New(`failed calling webhook "work.karmada.io": connection refused`)), "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for kind, want := range map[judge.OperationKind]judge.Reason{judge.Create: c.want, judge.Update: c.want, judge.Delete: c.deletes, judge.Release: c.deletes} {
				got, permanent := permanentRefusal(fmt.Errorf("cannot do it: %w", c.err), judge.Operation{Kind: kind, Cluster: "m1"})
				if got.Reason != want || permanent != (want != "") {
					t.Errorf("%s: to %s: got %q, %v", c.reason, kind, got.Reason, permanent)
				}
				if permanent != (got.Denied != "") || (got.Denied == judge.ByAuthorization) != (name == "Forbidden") {
					t.Errorf("%s: to %s: denied by %q", c.reason, kind, got.Denied)
				}
				if strings.Contains(got.Message, secret) || strings.Contains(got.Message, "\n") {
					t.Errorf("the message leaks the manifest: %s", got.Message)
				}
			}
		})
	}
}

// TestRefusedPreparation: the right that is missing is named: it is not that to delete.
func TestRefusedPreparation(t *testing.T) {
	forbidden := apierrors.NewForbidden(worksGR, "x", errors.New("no"))
	for err, want := range map[error]string{forbidden: "may not delete Works", preparation{forbidden}: "may not write Works"} {
		if got, _ := permanentRefusal(err, judge.Operation{Kind: judge.Delete, Cluster: "m1"}); !strings.Contains(got.Message, want) {
			t.Errorf("%v: %q, not %q", err, got.Message, want)
		}
	}
}
