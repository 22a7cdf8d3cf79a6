package prose

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const repository = "../.."

// checked are the kinds of files that people read, by how their names end.
var checked = []string{".go", ".md", ".yaml", ".tpl", ".golden", "Makefile", "Dockerfile", ".sh"}

// exempt are files whose text is not the project's English.
var exempt = []string{"tools/prose/words.go", "tools/prose/prose_test.go"}

// find lists the phrases in a file's prose, with their lines.
func find(name string, content []byte) (found []string) {
	for _, p := range passages(name, content) {
		text := strings.Join(strings.Fields(p.text), " ")
		for _, phrase := range phrases {
			for _, match := range phrase.pattern.FindAllString(text, -1) {
				found = append(found, fmt.Sprintf("%s:%d: %q; instead: %s", name, p.line, match, phrase.instead))
			}
		}
	}
	return found
}

// TestPlainEnglish reads everything that git knows.
func TestPlainEnglish(t *testing.T) {
	output, err := exec.Command("git", "-C", repository, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for name := range strings.SplitSeq(string(output), "\x00") {
		isChecked := slices.ContainsFunc(checked, func(end string) bool { return strings.HasSuffix(name, end) })
		if !isChecked || slices.Contains(exempt, name) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(repository, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		files++
		for _, f := range find(name, content) {
			t.Error(f)
		}
	}
	if files < 500 {
		t.Errorf("only %d files were read", files)
	}
}

// TestFind has one file of each kind.
func TestFind(t *testing.T) {
	cases := map[string]struct {
		reason, name, content string
		want                  []string
	}{
		"Comment":  {"a phrase goes on in the next line", "a.go", "package a\n\n// x is told to\n// whoever asks; objects of\n// before stay.\n", []string{"a.go:3: \"whoever\"", "a.go:3: \"of before\"", "a.go:3: \"is told\""}},
		"Message":  {"a message is prose", "a.go", "package a\n\nvar e = \"nobody asked\"\n", []string{"a.go:3: \"nobody\""}},
		"Name":     {"a name is not", "a.go", "package a\n\nvar user = \"nobody\"\n", nil},
		"Code":     {"nor is an identifier", "a.go", "package a\n\nvar shall, mend = 1, 2\n", nil},
		"Page":     {"a paragraph is one passage", "a.md", "It is\nof others.\n", []string{"a.md:1: \"is of\""}},
		"Fence":    {"code in a page is not prose", "a.md", "Run `shall`:\n```\nshall\n```\n", nil},
		"Commands": {"but its comments are, and what it echoes", "a.md", "```sh\nls # nobody\necho \"made anew\"\n```\n", []string{"a.md:2: \"nobody\"", "a.md:3: \"anew\""}},
		"Cell":     {"a row stands alone", "a.md", "| it is |\n| of no use, and shall be |\n", []string{"a.md:2: \"shall\""}},
		"Examples": {"what is not to be written is shown somewhere", "a.md", proseOff + "\nshall\n" + proseOn + "\nshall\n", []string{"a.md:4: \"shall\""}},
		"Manifest": {"a manifest has comments and messages", "a.yaml", "# the default shall stay\nmessage: mended\n", []string{"a.yaml:1: \"shall\"", "a.yaml:2: \"mended\""}},
		"Idioms": {"phrases that read like a translation", "a.md", "What depends on it is left open.\n\nIt tells of a list that brings nothing and is tried again.\n",
			[]string{"a.md:1: \"left open\"", "a.md:3: \"tells of\"", "a.md:3: \"brings nothing\"", "a.md:3: \"tried again\""}},
		"OtherWords": {"words that contain a phrase are fine", "a.md", "We recommend and amend marshalled unbearable forests.\n", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			found := find(tc.name, []byte(tc.content))
			if len(found) != len(tc.want) {
				t.Fatalf("%s: %q", tc.reason, found)
			}
			for i, want := range tc.want {
				if !slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, want) }) {
					t.Errorf("%s: %d is not %s in %q", tc.reason, i, want, found)
				}
			}
		})
	}
}
