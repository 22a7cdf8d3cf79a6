package build

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPackageLog(t *testing.T) {
	type result struct{ Progress, Complaint string }
	cases := map[string]struct {
		reason string
		writes []string
		want   result
	}{
		"Nothing": {
			reason: "progress is reported even before the first package",
			want:   result{Progress: "finding out what to compile, or linking"},
		},
		"Packages": {
			reason: "packages are counted even if their lines arrive in pieces",
			writes: []string{"k8s.io/a", "pi\nk8s.io/b\n"},
			want:   result{Progress: "packages compiled: 2, now at k8s.io/b"},
		},
		"Complaint": {
			reason: "compiler errors are kept, with their heading",
			writes: []string{"k8s.io/api\n# k8s.io/b\nb.go:1:1: syntax error\n"},
			want: result{
				Progress:  "packages compiled: 1, now at k8s.io/api",
				Complaint: "# k8s.io/b; b.go:1:1: syntax error",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var log packageLog
			for _, w := range tc.writes {
				if _, err := log.Write([]byte(w)); err != nil {
					t.Fatal(err)
				}
			}
			got := result{Progress: log.progress(), Complaint: log.complaint()}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
