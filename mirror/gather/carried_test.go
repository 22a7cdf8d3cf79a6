package gather

import "testing"

func TestMostOf(t *testing.T) {
	for _, tc := range []struct {
		votes              map[string]int
		kept, want, reason string
	}{
		{nil, "", "", "there are no Works"},
		{nil, "v2", "v2", "what is watched needs none"},
		{map[string]int{"v1": 1, "v2": 2}, "v1", "v2", "most decide"},
		{map[string]int{"v1": 2, "v2": 1}, "v2", "v1", "a list that was cut short ends"},
		{map[string]int{"v1": 1, "v2": 1}, "v2", "v2", "the agent of one cluster of two changes nothing"},
		{map[string]int{"v1": 1, "v2": 1}, "", "v1", "a newer one comes after the Works"},
		{map[string]int{"v1": 1, "v1beta1": 1}, "", "v1beta1", "also after a beta"},
	} {
		if got := mostOf(tc.votes, tc.kept); got != tc.want {
			t.Errorf("%s: %q of %v, want %q", tc.reason, got, tc.votes, tc.want)
		}
	}
}
