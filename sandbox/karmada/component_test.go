package karmada

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOverride(t *testing.T) {
	cases := map[string]struct {
		reason            string
		flags, more, want []string
	}{
		"Nothing":  {"A component keeps its own flags.", []string{"--a=1", "--b"}, nil, []string{"--a=1", "--b"}},
		"Added":    {"A flag of another name is added.", []string{"--a=1"}, []string{"--ab=2"}, []string{"--a=1", "--ab=2"}},
		"Replaced": {"A list is not added up.", []string{"--controllers=*,x", "--a=1"}, []string{"--controllers=binding"}, []string{"--a=1", "--controllers=binding"}},
		"Switch":   {"A flag without a value is switched off.", []string{"--unsafe-no-fsync"}, []string{"--unsafe-no-fsync=false"}, []string{"--unsafe-no-fsync=false"}},
		"List":     {"Several values may take the place of one.", []string{"--a=1"}, []string{"--a=2", "--a=3"}, []string{"--a=2", "--a=3"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, override(tc.flags, tc.more)); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
