package build

import (
	"bytes"
	"strings"
	"testing"
)

// TestProgress: a compilation says what it does and how far it is, and one that has nothing to do says nothing.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	idle := newProgress(&out, "it")
	idle.succeed()
	idle.end()
	if out.Len() > 0 {
		t.Errorf("it has nothing to do, and says %q", out.String())
	}

	p := newProgress(&out, "it")
	write := func(lines ...string) {
		if !p.last.IsZero() {
			p.last = p.last.Add(-2 * lineInterval) // it is time for a line
		}
		if _, err := p.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	write("go: downloading example.io/a v1.0.0")
	p.total = 3
	write("example.io/a", "example.io/b")
	write("# example.io/b", "b.go:1:1: undefined: x")
	p.succeed()
	p.end()
	want := "compiling it, from source\n  1 modules downloaded, 0s\n  2 of 3 packages compiled, 0s\n  2 of 3 packages compiled, 0s\n  done in 0s\n"
	if out.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", out.String(), want)
	}
	if got, want := p.messages(), "# example.io/b\nb.go:1:1: undefined: x"; got != want {
		t.Errorf("an error would say %q, want %q", got, want)
	}
}

// TestCompile: what cannot be compiled is named, with what the compiler says.
func TestCompile(t *testing.T) {
	var out bytes.Buffer
	b := &Builder{Progress: &out, compiled: map[string]bool{}}
	err := b.compile(t.Context(), step{what: "nothing", dir: ".", output: "x", targets: []string{"./no/such/folder"}})
	if err == nil || !strings.Contains(err.Error(), "cannot compile nothing") || !strings.Contains(err.Error(), "no/such/folder") {
		t.Errorf("it does not say why: %v", err)
	}
}
