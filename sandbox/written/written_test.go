package written

import (
	"testing"
	"time"
)

func TestInsert(t *testing.T) {
	cases := map[string]struct{ reason, page, want string }{
		"Between":  {"Only the text between the marks is replaced.", "a<b>old<e>z", "a<b>new<e>z"},
		"Empty":    {"There may be no text yet.", "<b><e>", "<b>new<e>"},
		"NoEnd":    {"Without an end, the rest of the page would be lost.", "a<b>old", ""},
		"NoBegin":  {"Without a beginning, there is nowhere to write.", "old<e>", ""},
		"Reversed": {"An end before the beginning does not count.", "<e>a<b>", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := insert([]byte(tc.page), "<b>", "<e>", "new")
			if string(got) != tc.want || (err != nil) != (tc.want == "") {
				t.Errorf("%s: %q, %v", tc.reason, got, err)
			}
		})
	}
}

func TestRevision(t *testing.T) {
	r := Revision{Date: time.Date(2026, 11, 22, 23, 30, 0, 0, time.FixedZone("west", -3600)), Commit: "0123456789ab"}
	if got, want := r.String(), "on 2026-11-23 at revision 0123456789ab"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.IsDirty = true
	if got, want := r.String(), "on 2026-11-23 at revision 0123456789ab with uncommitted changes"; got != want {
		t.Errorf("%q hides changes, want %q", got, want)
	}
}
