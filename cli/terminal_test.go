package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

// TestAsk: only a yes is a yes.
func TestAsk(t *testing.T) {
	broken := errors.New("the terminal has gone")
	cases := map[string]struct {
		reason string
		in     io.Reader
		want   string // the error; empty for a yes
	}{
		"y":       {"the short form", strings.NewReader("y\n"), ""},
		"yes":     {"the long form", strings.NewReader("yes\n"), ""},
		"Y":       {"in capitals", strings.NewReader("Y\n"), ""},
		"spaces":  {"with spaces, or a carriage return", strings.NewReader(" yes \r\n"), ""},
		"half":    {"without an end of line", strings.NewReader("y"), ""},
		"no":      {"a no", strings.NewReader("no\n"), "nothing was deleted"},
		"Empty":   {"N is the default", strings.NewReader("\n"), "nothing was deleted"},
		"EOF":     {"Ctrl-D is no answer", strings.NewReader(""), "nothing was deleted"},
		"almost":  {"a word that begins with y", strings.NewReader("yesterday\n"), "nothing was deleted"},
		"second":  {"only the first line counts", strings.NewReader("n\ny\n"), "nothing was deleted"},
		"failure": {"it cannot be read", iotest.ErrReader(broken), broken.Error()},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := ask(t.Context(), c.in, &out, "This deletes 2 Works.", "nothing was deleted")
			if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
				t.Errorf("%s: %v", c.reason, err)
			}
			if out.String() != "This deletes 2 Works. Continue? [y/N] " {
				t.Errorf("it asks: %q", out.String())
			}
		})
	}
}

// TestConfirmElsewhere: what is not a terminal cannot be asked, so that a script must say --yes.
func TestConfirmElsewhere(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(read.Close(), write.Close()) })
	for name, in := range map[string]io.Reader{"a pipe": read, "no file": strings.NewReader("yes\n")} {
		var out bytes.Buffer
		if err := confirm(t.Context(), in, &out, "This deletes 2 Works.", "nothing was deleted"); err == nil || !strings.Contains(err.Error(), "give --yes") || out.Len() > 0 {
			t.Errorf("%s is asked: %v, %q", name, err, out.String())
		}
	}
}
