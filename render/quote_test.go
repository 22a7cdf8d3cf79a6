package render

import (
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"Plain":   {"as it is", "member1", `"member1"`},
		"Newline": {"it would forge a log line", "a\nlevel=error", `"a\nlevel=error"`},
		"Escape":  {"a terminal would execute it", "\x1b[2J", `"\x1b[2J"`},
		"Unicode": {"text may run backwards", "\u202eabc", `"\u202eabc"`},
		"Long":    {"an annotation may be 256 KiB", strings.Repeat("x", 1000), `"` + strings.Repeat("x", 55) + `..."`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := quote(c.text); got != c.want || len(got) > maxQuoted {
				t.Errorf("%s: got %s, want %s", c.reason, got, c.want)
			}
		})
	}
}
