// Package prose checks the project's English, and that decisions are complete.
package prose

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// phrases read like a translation; CONTRIBUTING.md shows what to write instead.
	phrases = regexp.MustCompile(`(?i)\b(who(m|so)?ever|shall|nobody|somebody|mend(s|ed|ing)?|anew|lest|thereof|therein|henceforth|such an? one|by lot|of before|left out:|bears` +
		`|c[oa]mes? about|lets? (it|them|one|all|none|either|such) go|lets? go|(is|are|was|were|been|being) told|(is|are|was|were) of|once more|worth a look` +
		`|(is|are) asked (for|who|by)|(leave|leaves|leaving|left) ((it|them|this|that) )?(out|open)|(change|all of it|all of them) (is|are|was|were) carried out|tried again` +
		`|(tell|tells|telling|told) of|(go|goes|going|went) on with|(bring|brings|brought) nothing|in sum|goes with its|some(one|body) else also)\b`)
	isRead    = regexp.MustCompile(`(\.(go|md|yaml|tpl|golden|sh)|file)$`)
	names     = regexp.MustCompile(`(?i)\b(lately|diary|echoes|partings?|standings?|unlost|unwell|outlived|ageless|farewell|mended|lets? go|left out|is told|nobody|somebody|anew|once more)\b`)
	camel     = regexp.MustCompile(`([a-z])([A-Z])`)                                                                // where a word of a name ends
	notProse  = regexp.MustCompile("`[^`]*`" + `|"(\\.|[^"\s])*"`)                                                  // code in a page, and names in a program
	goProse   = regexp.MustCompile(`(^|\s)//\s.*|"(\\.|[^"])*"`)                                                    // comments, and messages
	decisions = regexp.MustCompile(`^docs/decisions/[a-z-]+\.md$`)                                                  // README.md lists them
	whole     = regexp.MustCompile(`(?s)\*\*Date:\*\* .*\n\n\*\*Alternatives:\*\* .*\n\n\*\*Would change it:\*\* `) // what each decision has
)

// TestProse reads everything that git knows, line by line. In this file it must find one: whoever.
func TestProse(t *testing.T) {
	output, err := exec.Command("git", "-C", "../..", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	var here []string
	for _, name := range strings.Fields(string(output)) {
		content, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil || !isRead.MatchString(name) {
			continue // deleted and not committed yet, or not text
		}
		for i, line := range strings.Split(string(content), "\n") {
			if strings.HasSuffix(name, ".go") {
				line = notProse.ReplaceAllString(line, "")
				if match := names.FindString(camel.ReplaceAllString(goProse.ReplaceAllString(line, ""), "$1 $2")); match != "" {
					t.Errorf("%s:%d: a name says %q", name, i+1, match)
				}
				line = strings.Join(goProse.FindAllString(line, -1), "; ")
			}
			if match := phrases.FindString(notProse.ReplaceAllString(line, "")); match != "" && name == "tools/prose/prose_test.go" {
				here = append(here, match)
			} else if match != "" {
				t.Errorf("%s:%d: %q: see the table in CONTRIBUTING.md", name, i+1, match)
			}
		}
		for _, section := range strings.Split(string(content), "\n## ")[1:] {
			if decisions.MatchString(name) && !whole.MatchString(section) {
				t.Errorf("%s: %.60q has no date, alternatives, or what would change it", name, section)
			}
		}
	}
	if len(here) != 1 {
		t.Errorf("found %q in this file", here)
	}
}
