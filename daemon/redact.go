package daemon

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The message of an API error may repeat what was sent: an admission webhook writes it,
// and client-go quotes the first two kilobytes of a response that it cannot decode. The
// object may be a Secret, and more people may read the log than the Secret. So only these
// fixed forms, which Kubernetes itself writes, are repeated from a message.
var (
	denial  = regexp.MustCompile(`admission webhook "[a-z0-9.-]+" denied the request|ValidatingAdmissionPolicy '[a-z0-9.-]+' (with binding '[a-z0-9.-]+' )?denied request|exceeded quota: [a-z0-9.-]+`)
	telling = regexp.MustCompile(`failed calling webhook "[a-z0-9.-]+"|cannot [a-z]+ resource "[a-z0-9/.-]+" in API group "[a-z0-9.-]*"|^(Internal error occurred: )?(etcdserver: [A-Za-z:,\- ]+|rpc error: code = [A-Za-z]+ desc = etcdserver: [A-Za-z:,\- ]+)$`)
	network = regexp.MustCompile(`connection refused|context deadline exceeded|no endpoints available|no such host|x509: certificate signed by unknown authority|x509: certificate has expired`)
)

// reasons are Kubernetes' own. A webhook may answer with a different one.
var reasons = []metav1.StatusReason{
	metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists,
	metav1.StatusReasonConflict, metav1.StatusReasonGone, metav1.StatusReasonInvalid, metav1.StatusReasonServerTimeout,
	metav1.StatusReasonTimeout, metav1.StatusReasonTooManyRequests, metav1.StatusReasonBadRequest, metav1.StatusReasonMethodNotAllowed,
	metav1.StatusReasonNotAcceptable, metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonUnsupportedMediaType,
	metav1.StatusReasonInternalError, metav1.StatusReasonExpired, metav1.StatusReasonServiceUnavailable,
}

// redacted returns the text of an error without the messages of API errors in it.
func redacted(err error) string {
	text := err.Error()
	// The longest first: it may contain another.
	all := slices.SortedFunc(slices.Values(answers(err)), func(a, b error) int { return len(b.Error()) - len(a.Error()) })
	for _, answer := range all {
		if said := answer.Error(); strings.Contains(text, said) && said != "" {
			text = strings.ReplaceAll(text, said, describe(answer))
			continue
		}
		return describe(answer) // a wrapper has altered the message, so it cannot be cut out
	}
	return text
}

// answers returns the errors in a tree of errors that hold what the API server sent.
func answers(err error) []error {
	switch e := err.(type) {
	case nil:
		return nil
	case apierrors.APIStatus, *apierrors.UnexpectedObjectError:
		return []error{err}
	case interface{ Unwrap() error }:
		return answers(e.Unwrap())
	case interface{ Unwrap() []error }:
		return answersOfAll(e.Unwrap())
	case interface{ Errors() []error }: // apimachinery's Aggregate
		return answersOfAll(e.Errors())
	}
	return nil
}

func answersOfAll(errs []error) []error {
	var all []error
	for _, err := range errs {
		all = append(all, answers(err)...)
	}
	return all
}

// describe returns an answer's code and reason, and what is safe to repeat of its message
// and details. It omits the details of a denial: a webhook wrote them.
func describe(answer error) string {
	var status apierrors.APIStatus
	if !errors.As(answer, &status) {
		return "the API server sent an object where none was expected"
	}
	s := status.Status()
	text := fmt.Sprint(s.Code)
	if slices.Contains(reasons, s.Reason) {
		text += " " + string(s.Reason)
	}
	if denied := denial.FindString(s.Message); denied != "" {
		return text + ": " + denied
	}
	if d := s.Details; d != nil && d.Kind != "" {
		text += " (" + strings.TrimSuffix(d.Kind+"."+d.Group, ".") + ")"
	}
	if said := telling.FindString(s.Message); said != "" {
		text += ": " + strings.TrimSpace(said+" "+network.FindString(s.Message))
	}
	if fields := fieldsOf(s.Details); s.Reason == metav1.StatusReasonInvalid && len(fields) > 0 {
		text += ": " + strings.Join(fields, ", ")
	}
	return text
}

// fieldsOf returns the paths of the invalid fields, without their values.
func fieldsOf(d *metav1.StatusDetails) []string {
	var fields []string
	if d != nil {
		for _, cause := range d.Causes {
			fields = append(fields, cause.Field)
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// redactor is a core that applies redact to every field before it writes it.
type redactor struct {
	zapcore.Core
	redact func(zapcore.Field) zapcore.Field
}

// redacting writes errors redacted, no matter which component logs them.
func redacting() zap.Option { return redactingBy(redactError) }

// namingObjects writes only the types of objects. client-go logs whole objects that it
// does not understand: tools/cache/reflector.go, v0.35.4.
func namingObjects() zap.Option { return redactingBy(nameObject) }

func redactingBy(redact func(zapcore.Field) zapcore.Field) zap.Option {
	return zap.WrapCore(func(core zapcore.Core) zapcore.Core { return redactor{core, redact} })
}

// With implements zapcore.Core.
func (r redactor) With(fields []zapcore.Field) zapcore.Core {
	return redactor{r.Core.With(r.redacted(fields)), r.redact}
}

// Check implements zapcore.Core.
func (r redactor) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !r.Enabled(entry.Level) {
		return checked
	}
	return checked.AddCore(entry, r)
}

// Write implements zapcore.Core.
func (r redactor) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	return r.Core.Write(entry, r.redacted(fields))
}

func (r redactor) redacted(fields []zapcore.Field) []zapcore.Field {
	fields = slices.Clone(fields)
	for i := range fields {
		fields[i] = r.redact(fields[i])
	}
	return fields
}

func redactError(f zapcore.Field) zapcore.Field {
	if err, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
		return zap.String(f.Key, redacted(err))
	}
	return f
}

func nameObject(f zapcore.Field) zapcore.Field {
	switch f.Type {
	case zapcore.ReflectType, zapcore.StringerType, zapcore.ObjectMarshalerType, zapcore.InlineMarshalerType, zapcore.ArrayMarshalerType:
		return zap.String(f.Key, fmt.Sprintf("%T", f.Interface))
	}
	return f
}
