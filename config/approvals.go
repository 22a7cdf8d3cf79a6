package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ApprovalsAnnotation on the ConfigMap approves deletions that the breaker
// holds. `karmada-mirror deletions approve` writes it.
const ApprovalsAnnotation = "karmada.target/approve-deletions"

// DefaultConfigMap is the usual ConfigMap of a daemon.
const DefaultConfigMap = "karmada-system/karmada-mirror"

// approvalTime is RFC 3339 with milliseconds, as in the marks on held Works.
const approvalTime = "2006-01-02T15:04:05.000Z07:00"

// Approvals give, for each key, the time up to which held deletions are approved. A key is a
// resource, deployments.apps; a resource in one namespace, shop/deployments.apps; or either of
// these for one member cluster, shop/deployments.apps@member1. Deletions held later need another
// approval, so that an old one cannot be replayed.
type Approvals map[string]time.Time

// ApprovalOf returns the key for a resource, in a namespace and for a member cluster, or for all
// of them where either is empty.
func ApprovalOf(resource, namespace, member string) string {
	key := resource
	if namespace != "" {
		key = namespace + "/" + key
	}
	if member != "" {
		key += "@" + member
	}
	return key
}

// Until returns the time up to which held deletions of a resource are approved, in a namespace
// and for a member cluster.
func (a Approvals) Until(resource, namespace, member string) time.Time {
	var until time.Time
	for _, key := range []string{ApprovalOf(resource, "", ""), ApprovalOf(resource, namespace, ""), ApprovalOf(resource, "", member), ApprovalOf(resource, namespace, member)} {
		if a[key].After(until) {
			until = a[key]
		}
	}
	return until
}

// Covers reports whether the deletion of a Work that has been held since a time is approved.
func (a Approvals) Covers(since time.Time, resource, namespace, member string) bool {
	return !since.After(a.Until(resource, namespace, member))
}

// ParseApprovals reads [<namespace>/]<resource>[@<member>]=<RFC 3339 time>, separated by commas.
func ParseApprovals(value string) (Approvals, error) {
	approvals := Approvals{}
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		resource, text, _ := strings.Cut(item, "=")
		until, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || resource == "" {
			return nil, fmt.Errorf("cannot read the approval %q in %s: want [<namespace>/]<resource>[@<member>]=<RFC 3339 time>", item, ApprovalsAnnotation)
		}
		approvals[resource] = until
	}
	return approvals, nil
}

// MaxClockSkew is how far apart the clocks of two replicas may be.
const MaxClockSkew = 2 * time.Hour

// IsAhead reports whether a time is in the future, on any replica's clock.
func IsAhead(t, now time.Time) bool { return t.After(now.Add(MaxClockSkew)) }

// UsableApprovals returns what the annotation approves, and what is wrong with the rest. Written is when the API server says
// that it was written, as WrittenAt returns it: an approval that was in the future then does not come into force by waiting.
func UsableApprovals(annotation string, written, now time.Time) (Approvals, error) {
	approvals, err := ParseApprovals(annotation) // none if they cannot be parsed
	if !written.IsZero() && written.Before(now) {
		now = written
	}
	usable, unusable := approvals.usable(now)
	return usable, errors.Join(err, unusable)
}

// WrittenAt returns when the managedFields say that a field of an object was last written, by a word that only it contains;
// zero if they do not.
func WrittenAt(o metav1.Object, field string) (at time.Time) {
	for _, entry := range o.GetManagedFields() {
		if entry.Time != nil && entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.String(), field) && entry.Time.After(at) {
			at = entry.Time.Time
		}
	}
	return at
}

// usable drops approvals for a time in the future, of deletions that no one can have seen yet,
// and names them in an error.
func (a Approvals) usable(now time.Time) (Approvals, error) {
	usable := Approvals{}
	var errs []error
	for _, resource := range slices.Sorted(maps.Keys(a)) {
		if IsAhead(a[resource], now) {
			errs = append(errs, fmt.Errorf("cannot use the approval of %s in %s: %s was in the future when it was written; remove it", resource, ApprovalsAnnotation, a[resource].Format(approvalTime)))
			continue
		}
		usable[resource] = a[resource]
	}
	return usable, errors.Join(errs...)
}

// String is the inverse of ParseApprovals.
func (a Approvals) String() string {
	var items []string
	for _, resource := range slices.Sorted(maps.Keys(a)) {
		items = append(items, resource+"="+a[resource].UTC().Format(approvalTime))
	}
	return strings.Join(items, ",")
}
