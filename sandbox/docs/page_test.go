package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readText(t *testing.T, text string) (*Page, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "'''", "```")), 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(path)
}

func TestRead(t *testing.T) {
	page, err := readText(t, `# Try the `+"`page`"+`: now!

Text, see [there](other.md#a-b) and [out](https://example.com).

<!-- test: run
kubectl create namespace shop
-->
1. A list:

   <!-- test: exits 1 -->
   <!-- test: eventually -->
   '''sh
   echo one
     echo two
   '''

   '''console
   one
   '''

<!-- test: skip no node -->
'''sh
make it
'''

'''yaml
a: b
'''

## Try the page now
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []Step{
		{Block: Block{6, "kubectl create namespace shop\n"}, Hidden: true, Heading: "Try the page: now!"},
		{Block: Block{13, "echo one\n  echo two\n"}, Status: 1, Eventually: true, Expected: &Output{shown: "one\n"}, Heading: "Try the page: now!"},
		{Block: Block{23, "make it\n"}, Skip: "no node", Heading: "Try the page: now!"},
	}
	var got []Step
	for _, step := range page.Steps {
		got = append(got, *step)
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b Output) bool { return a.shown == b.shown })); diff != "" {
		t.Errorf("steps, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]Block{{27, "a: b\n"}}, page.Data); diff != "" {
		t.Errorf("data, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]Block{{3, "other.md#a-b"}}, page.Links); diff != "" {
		t.Errorf("links, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"try-the-page-now", "try-the-page-now-1"}, page.Anchors); diff != "" {
		t.Errorf("anchors, -want +got:\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	cases := map[string]string{
		"a block without a language":          "'''\nls\n'''\n",
		"a block of an unknown language":      "'''bash\nls\n'''\n",
		"an indented block":                   "text\n\n    ls\n",
		"output without a block":              "'''console\nls\n'''\n",
		"a second output":                     "'''sh\nls\n'''\n'''console\na\n'''\n'''console\na\n'''\n",
		"a skip without a reason":             "<!-- test: skip -->\n'''sh\nls\n'''\n",
		"elsewhere without a reason":          "<!-- test: elsewhere -->\n'''sh\nls\n'''\n",
		"an unknown comment":                  "<!-- test: sometimes -->\n'''sh\nls\n'''\n",
		"a comment about nothing":             "<!-- test: eventually -->\n",
		"a comment about what is not run":     "<!-- test: eventually -->\n'''yaml\na: b\n'''\n",
		"an exit status that is not a number": "<!-- test: exits badly -->\n'''sh\nls\n'''\n",
		"a hidden block that does not end":    "<!-- test: run\nls\n",
		"a hidden block without a new line":   "<!-- test: run ls -->\n",
	}
	for name, text := range cases {
		if page, err := readText(t, text); err == nil {
			t.Errorf("%s is accepted: %+v", name, page)
		}
	}
}

func TestOutput(t *testing.T) {
	cases := map[string]struct {
		shown, printed string
		want           bool
	}{
		"the same":            {"a b\n", "a b\n", true},
		"another word":        {"a b\n", "a c\n", false},
		"wider columns":       {"NAME   AGE\nx 5s\n", "NAME      AGE  \nx         1m20s\n", true},
		"a line less":         {"a\nb\n", "a\n", false},
		"a line more":         {"a\n", "a\nb\n", false},
		"anything in a line":  {"pod/nginx-… ready\n", "pod/nginx-5f7-x2 ready\n", true},
		"not across lines":    {"a … b\n", "a\nb\n", false},
		"any lines":           {"a\n…\nz\n", "a\nb\nc\nz\n", true},
		"no lines":            {"a\n…\nz\n", "a\nz\n", true},
		"a time":              {"at 2026-11-22T04:00:00Z\n", "at 2027-01-02T03:04:05.678Z\n", true},
		"not a time":          {"at 2026-11-22T04:00:00Z\n", "at noon\n", false},
		"a UID":               {"9d1c58ea-03a1-4c5e-9a9d-0f5f0a4f2a43\n", "00000000-03a1-4c5e-9a9d-0f5f0a4f2a43\n", true},
		"brackets are plain":  {"a.b [c]\n", "axb c\n", false},
		"empty and something": {"a\n", "", false},
	}
	for name, tc := range cases {
		output, err := parseOutput(tc.shown)
		if err != nil {
			t.Fatal(err)
		}
		if got := output.Matches(tc.printed); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestShell(t *testing.T) {
	dir := t.TempDir()
	shell, err := NewShell(t.Context(), dir, t.TempDir(), os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	defer shell.Close()
	run := func(step *Step) error { return shell.Run(t.Context(), step) }
	step := func(text, shown string) *Step {
		output, err := parseOutput(shown)
		if err != nil {
			t.Fatal(err)
		}
		return &Step{Block: Block{Text: text}, Expected: output}
	}
	steps := []*Step{
		step("A=one; export B=two; mkdir folder; cd folder; sleep 600 &\n", ""),
		step("echo $A; basename $PWD\nsh -c 'echo $B >&2'", "one\nfolder\ntwo\n"),
		step("echo x >> count; test $(wc -l < count) = 3; wc -l < count", "3\n"),
		step("false; echo not reached", ""),
		step("echo $A", "one\n"),
	}
	steps[2].Eventually, steps[3].Status = true, 1
	for _, s := range steps {
		if err := run(s); err != nil {
			t.Errorf("%q: %v", s.Text, err)
		}
	}
	if err := run(step("echo $A", "two\n")); err == nil {
		t.Error("the wrong output is accepted")
	}
	if err := run(step("true | false; echo not reached", "")); err == nil {
		t.Error("a failure is accepted")
	}
}
