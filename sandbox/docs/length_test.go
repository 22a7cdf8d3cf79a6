package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mostWords is how many words a page for contributors and evaluators may have, besides
// tables, fenced blocks and HTML comments.
const mostWords = 1200

// TestPagesAreShort limits the length of the pages that only grow: measurements and
// decisions.
func TestPagesAreShort(t *testing.T) {
	folder := filepath.Join("..", "..", "docs")
	paths, err := filepath.Glob(filepath.Join(folder, "decisions", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatal("found no decisions")
	}
	paths = append(paths, filepath.Join(folder, "performance.md"), filepath.Join(folder, "reliability.md"))
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := countWords(string(content)); n > mostWords {
			t.Errorf("%s has %d words besides tables, fences and comments: shorten it to %d", path, n, mostWords)
		}
	}
}

var htmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)

// countWords counts the words of a page besides tables, fenced blocks and HTML comments.
func countWords(page string) int {
	words, fenced := 0, false
	for line := range strings.Lines(htmlComment.ReplaceAllString(page, "")) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case !fenced && !strings.HasPrefix(line, "|"):
			words += len(strings.Fields(line))
		}
	}
	return words
}

func TestCountWords(t *testing.T) {
	cases := map[string]struct {
		reason, page string
		want         int
	}{
		"Prose":   {"Headings and prose count.", "# One\n\ntwo three\n", 4},
		"Table":   {"Table rows do not count.", "one\n\n| a | b |\n|---|---|\n| c | d |\n\ntwo\n", 2},
		"Fence":   {"Fenced blocks do not count, indented or not.", "one\n```sh\na b\n```\n- two\n  ```sh\n  c\n  ```\n", 3},
		"Comment": {"HTML comments do not count, but what is between them does.", "<!-- a b -->one<!-- c\nd -->\ntwo\n", 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := countWords(tc.page); got != tc.want {
				t.Errorf("%s countWords() = %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
