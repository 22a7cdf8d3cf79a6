package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgress(t *testing.T) {
	cases := map[string]struct {
		reason   string
		terminal bool
		steps    int
		pause    time.Duration
		want     string
	}{
		"quick":             {"a quick step shows nothing", false, 1000, 0, ""},
		"quick, terminal":   {"on a terminal neither", true, 1000, 0, ""},
		"long, elsewhere":   {"lines of their own, but not too many", false, 25, time.Second, "reading: 10\nreading: 20\n"},
		"a second, elapsed": {"one line that changes, and is cleared", true, 3, 600 * time.Millisecond, "\rreading: 2\rreading: 3\r\x1b[K"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				p := newProgress(&out, "reading")
				if c.terminal {
					p.onTerminal()
				}
				for range c.steps {
					time.Sleep(c.pause)
					p.step()
				}
				p.done()
				if out.String() != c.want {
					t.Errorf("got %q, want %q: %s", out.String(), c.want, c.reason)
				}
			})
		})
	}
}
