package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestApprovals(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cases := map[string]struct {
		reason string
		value  string
		want   Approvals // nil: an error
		usable Approvals // nil: all
	}{
		"None":       {"no annotation approves nothing", "", Approvals{}, nil},
		"Two":        {"each resource has its own time", "pods=2026-01-02T03:04:05.000Z, jobs.batch=2026-01-02T03:04:04.500Z,", Approvals{"pods": now, "jobs.batch": now.Add(-500 * time.Millisecond)}, nil},
		"Zone":       {"a time may be in any zone", "pods=2026-01-02T04:04:05+01:00", Approvals{"pods": now}, nil},
		"Skewed":     {"another replica's clock may be ahead", "pods=2026-01-02T04:04:05Z", Approvals{"pods": now.Add(time.Hour)}, nil},
		"Future":     {"no one has seen what will be held next year", "pods=2027-01-02T03:04:05Z", Approvals{"pods": now.AddDate(1, 0, 0)}, Approvals{}},
		"FutureToo":  {"which does not affect the others", "pods=2027-01-02T03:04:05Z,jobs.batch=2026-01-02T03:04:05Z", Approvals{"pods": now.AddDate(1, 0, 0), "jobs.batch": now}, Approvals{"jobs.batch": now}},
		"NoTime":     {"an approval without a time would never end", "pods", nil, nil},
		"NoResource": {"an approval needs a resource", "=2026-01-02T03:04:05Z", nil, nil},
		"BadTime":    {"an unreadable value approves nothing", "pods=2026-01-02T03:04:05Z,jobs.batch=soon", nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseApprovals(tc.value)
			if (err != nil) != (tc.want == nil) {
				t.Fatalf("%s: error %v", tc.reason, err)
			}
			if err != nil {
				return
			}
			equal := cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })
			if diff := cmp.Diff(tc.want, got, equal); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if again, err := ParseApprovals(got.String()); err != nil || cmp.Diff(got, again, equal) != "" {
				t.Errorf("%q reads back as %v, %v", got.String(), again, err)
			}
			usable, err := got.usable(now)
			want := tc.usable
			if want == nil {
				want = tc.want
			}
			if diff := cmp.Diff(want, usable, equal); diff != "" || (err != nil) != (len(usable) < len(got)) {
				t.Errorf("%s: %v; usable, -want +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}

// TestUsableWhenWritten: what was in the future when it was written stays unusable.
func TestUsableWhenWritten(t *testing.T) {
	now, nine := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "2026-01-02T12:04:05Z"
	write := func(by, field string, at time.Time) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: by, Time: &metav1.Time{Time: at}, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + field + `":{}}}}`)}
	}
	for name, c := range map[string]struct {
		written []metav1.ManagedFieldsEntry
		want    int
	}{
		"Then":      {[]metav1.ManagedFieldsEntry{write("kubectl-annotate", ApprovalsAnnotation, now)}, 0},
		"Others":    {[]metav1.ManagedFieldsEntry{write("kubectl-annotate", ApprovalsAnnotation, now), write("helm", "team", now.Add(8*time.Hour))}, 0},
		"Again":     {[]metav1.ManagedFieldsEntry{write("kubectl-annotate", ApprovalsAnnotation, now), write("kubectl-edit", ApprovalsAnnotation, now.Add(8*time.Hour))}, 1},
		"NotKnown":  {nil, 1},
		"InOneHour": {[]metav1.ManagedFieldsEntry{write("kubectl-annotate", ApprovalsAnnotation, now.Add(8*time.Hour))}, 1},
	} {
		o := &metav1.ObjectMeta{ManagedFields: c.written}
		if got, err := UsableApprovals("pods="+nine, WrittenAt(o, ApprovalsAnnotation), now.Add(8*time.Hour)); len(got) != c.want || (err == nil) != (c.want == 1) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestUntil(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cases := map[string]struct {
		reason                      string
		resource, namespace, member string // what is approved
		covers                      bool   // what is held of pods in shop for m1
	}{
		"All":             {"an approval for the resource covers each of its Works", "pods", "", "", true},
		"Namespace":       {"one for its namespace does", "pods", "shop", "", true},
		"Member":          {"one for its cluster does", "pods", "", "m1", true},
		"Both":            {"one for both does", "pods", "shop", "m1", true},
		"OtherResource":   {"one for another resource does not", "jobs.batch", "", "", false},
		"OtherNamespace":  {"nor for another namespace", "pods", "bank", "", false},
		"OtherMember":     {"nor for another cluster", "pods", "", "m2", false},
		"NamespaceAlone":  {"nor for another namespace of the cluster", "pods", "bank", "m1", false},
		"MemberAlone":     {"nor for another cluster of the namespace", "pods", "shop", "m2", false},
		"NoMemberAtAll":   {"a cluster is not part of the resource", "pods@m1", "bank", "", false},
		"ResourceInOther": {"neither is a namespace", "shop/pods", "bank", "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			parsed, err := ParseApprovals(Approvals{ApprovalOf(tc.resource, tc.namespace, tc.member): now}.String())
			if err != nil {
				t.Fatal(err)
			}
			want := time.Time{}
			if tc.covers {
				want = now
			}
			if got := parsed.Until("pods", "shop", "m1"); !got.Equal(want) {
				t.Errorf("%s: approved until %s", tc.reason, got)
			}
		})
	}
}

func FuzzParseApprovals(f *testing.F) {
	f.Add("pods=2026-01-02T03:04:05.000Z")
	f.Fuzz(func(t *testing.T, value string) {
		approvals, err := ParseApprovals(value)
		if err != nil {
			return
		}
		for resource, until := range approvals {
			if resource == "" || until.IsZero() && value == "" {
				t.Errorf("%q approves %q until %s", value, resource, until)
			}
		}
	})
}
