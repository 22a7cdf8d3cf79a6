package bench

import "testing"

func TestSelected(t *testing.T) {
	cases := map[string]struct {
		reason string
		of     Options
		want   int // sections; 0 means an error
	}{
		"Apart":       {"A section that runs apart runs if it is named.", Options{Only: []string{"waves"}}, 1},
		"Quick":       {"A long section runs in a quick run if it is named.", Options{Quick: true, Only: []string{"memory", "latency"}}, 2},
		"Unknown":     {"A section that does not exist is an error.", Options{Only: []string{"speed"}}, 0},
		"Revisions":   {"Revisions need an earlier one.", Options{Only: []string{revisionsSection}, Against: "HEAD^"}, 1},
		"NoRevision":  {"Without an earlier one there is nothing to compare with.", Options{Only: []string{revisionsSection}}, 0},
		"NotRevision": {"An earlier revision that nothing compares with is a mistake.", Options{Against: "HEAD^"}, 0},
		"Profiles":    {"A profiled daemon is part of the benchmark's program, so it has its revision.", Options{Only: []string{revisionsSection}, Against: "HEAD^", Profiles: "profiles"}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			chosen, err := tc.of.selected()
			if len(chosen) != tc.want || (err == nil) != (tc.want > 0) {
				t.Errorf("%s\nselected() = %d sections, %v; want %d", tc.reason, len(chosen), err, tc.want)
			}
		})
	}
}
