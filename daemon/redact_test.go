package daemon

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
)

// secret must not appear in any log.
const secret = "hunter2"

// status returns an error of the API server.
func status(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message}}
}

// reworded holds another error without its text.
type reworded struct{ error }

func (r reworded) Error() string { return strings.ToUpper(r.error.Error()) }
func (r reworded) Unwrap() error { return r.error }

var redactions = map[string]struct {
	reason string
	err    error
	want   string
}{
	"Plain":      {"other errors stay as they are", errors.New("connection refused"), "cannot list: connection refused"},
	"Webhook":    {"only who denied", status(400, "", `admission webhook "w.example" denied the request: `+secret), `cannot list: 400: admission webhook "w.example" denied the request`},
	"OwnReason":  {"a webhook may write the reason", status(409, secret, `admission webhook "w.example" denied the request: no`), `cannot list: 409: admission webhook "w.example" denied the request`},
	"Policy":     {"its message may quote", status(422, "Invalid", `x is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: `+secret), "cannot list: 422 Invalid: ValidatingAdmissionPolicy 'p' with binding 'b' denied request"},
	"Quota":      {"its name, not what was requested", status(403, "Forbidden", `works "x" is forbidden: exceeded quota: small, requested: `+secret), "cannot list: 403 Forbidden: exceeded quota: small"},
	"Unreached":  {"why it was not reached helps", status(500, "InternalError", `Internal error occurred: failed calling webhook "w.example": Post: dial tcp: connection refused `+secret), `cannot list: 500 InternalError: failed calling webhook "w.example" connection refused`},
	"Garbage":    {"client-go quotes an answer that it cannot decode", apierrors.NewGenericServerResponse(500, "POST", schema.GroupResource{Group: "work.karmada.io", Resource: "works"}, "x", secret, 0, true), "cannot list: 500 InternalError (works.work.karmada.io)"},
	"Rights":     {"the missing permission helps", apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New(`User "u" cannot list resource "secrets" in API group "" at the cluster scope`)), `cannot list: 403 Forbidden (secrets): cannot list resource "secrets" in API group ""`}, //lint:ignore ST1005 Kubernetes writes it so
	"Invalid":    {"the field, not its value", apierrors.NewInvalid(schema.GroupKind{Kind: "Work"}, "x", field.ErrorList{field.Invalid(field.NewPath("spec", "a"), secret, "no")}), "cannot list: 422 Invalid (Work): spec.a"},
	"Etcd":       {"etcd quotes nothing", status(500, "InternalError", "etcdserver: request timed out"), "cannot list: 500 InternalError: etcdserver: request timed out"},
	"EtcdFull":   {"nor here", status(500, "", "etcdserver: mvcc: database space exceeded"), "cannot list: 500: etcdserver: mvcc: database space exceeded"},
	"EtcdLeader": {"nor here", status(500, "", "etcdserver: request timed out, possibly due to previous leader failure"), "cannot list: 500: etcdserver: request timed out, possibly due to previous leader failure"},
	"EtcdLost":   {"nor here", status(500, "", "rpc error: code = Unavailable desc = etcdserver: request timed out, possibly due to connection lost"), "cannot list: 500: rpc error: code = Unavailable desc = etcdserver: request timed out, possibly due to connection lost"},
	"EtcdID":     {"its capitals and hyphens", status(500, "", "etcdserver: re-configuration failed due to not enough started members, cluster ID mismatch"), "cannot list: 500: etcdserver: re-configuration failed due to not enough started members, cluster ID mismatch"},
	"NotEtcd":    {"a name has a digit or a quote", status(500, "", "etcdserver: "+secret), "cannot list: 500"},
	"AfterEtcd":  {"nothing may follow", status(500, "", `etcdserver: too many requests for "`+secret+`"`), "cannot list: 500"},
	"NoStatus":   {"an object in place of an error", &apierrors.UnexpectedObjectError{Object: &unstructured.Unstructured{Object: map[string]any{"data": secret}}}, "cannot list: the API server sent an object where none was expected"},
	"Joined":     {"each of several", errors.Join(status(409, "Conflict", secret), status(500, "", secret+"2")), "cannot list: 409 Conflict\n500"},
	"Aggregated": {"also by apimachinery", utilerrors.NewAggregate([]error{status(409, "Conflict", secret), errors.New("other")}), "cannot list: [409 Conflict, other]"},
	"Reworded":   {"a message that cannot be cut out replaces the whole text", reworded{status(http.StatusConflict, "Conflict", secret)}, "409 Conflict"},
}

func TestRedacted(t *testing.T) {
	for name, c := range redactions {
		t.Run(name, func(t *testing.T) {
			if got := redacted(fmt.Errorf("cannot list: %w", c.err)); got != c.want {
				t.Errorf("%s:\ngot  %s\nwant %s", c.reason, got, c.want)
			}
		})
	}
}

// TestLogRedacts: errors are redacted however they get into the log.
func TestLogRedacts(t *testing.T) {
	core, logs := observer.New(zapcore.DebugLevel)
	logger := zap.New(core, redacting())
	leak := fmt.Errorf("cannot write: %w", status(http.StatusInternalServerError, "", secret))
	logger.Warn("field", zap.Error(leak))
	logger.Warn("named", zap.NamedError("err", leak))
	logger.Warn("any", zap.Any("cause", leak))
	logger.With(zap.Error(leak)).Warn("with")
	logger.Named("client-go").Sugar().Infow("sugar", "err", leak)
	event := watch.Event{Type: watch.Added, Object: &unstructured.Unstructured{Object: map[string]any{"data": secret}}}
	zapr.NewLogger(logger.WithOptions(namingObjects())).Error(leak, "client-go", "event", event, "object", event.Object, "err", leak)
	if logs.Len() != 6 {
		t.Fatalf("%d lines", logs.Len())
	}
	for _, entry := range logs.All() {
		text := fmt.Sprint(entry.Message, entry.ContextMap())
		if strings.Contains(strings.ToLower(text), secret) || !strings.Contains(text, "cannot write: 500") {
			t.Errorf("logged: %s", text)
		}
	}
}
