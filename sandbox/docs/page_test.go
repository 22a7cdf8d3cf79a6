package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
		path := filepath.Join(t.TempDir(), "page.md")
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "'''", "```")), 0o600); err != nil {
			t.Fatal(err)
		}
		if page, err := Read(path); err == nil {
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

// TestShell: what a page says wrongly is an error.
func TestShell(t *testing.T) {
	for _, tc := range []struct {
		text, shown string
		status      int
		fails       bool
	}{
		{text: "echo one; echo two >&2\n", shown: "one\ntwo\n"},
		{text: "false; echo not reached", status: 1},
		{text: "echo one\n", shown: "two\n", fails: true},
		{text: "echo one\n", status: 1, fails: true},
		{text: "true | false; echo not reached", fails: true},
	} {
		shell, err := NewShell(t.Context(), t.TempDir(), t.TempDir(), os.Environ())
		if err != nil {
			t.Fatal(err)
		}
		step := &Step{Block: Block{Text: tc.text}, Status: tc.status}
		if tc.shown != "" {
			step.Expected, _ = parseOutput(tc.shown)
		}
		if err := shell.Run(t.Context(), step); (err != nil) != tc.fails {
			t.Errorf("%q: %v", tc.text, err)
		}
		if err := shell.Close(); err != nil {
			t.Error(err)
		}
	}
}
