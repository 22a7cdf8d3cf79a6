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
