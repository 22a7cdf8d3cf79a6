package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityPage checks that each threat in SECURITY.md has a test, and that the tests named
// there and in docs/reliability.md exist.
func TestSecurityPage(t *testing.T) {
	repository := filepath.Join("..", "..")
	var all strings.Builder
	err := filepath.WalkDir(repository, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	test := regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w*`)
	for page, least := range map[string]int{"SECURITY.md": 50, filepath.Join("docs", "reliability.md"): 20} {
		text, err := os.ReadFile(filepath.Join(repository, page))
		if err != nil {
			t.Fatal(err)
		}
		names := test.FindAllString(string(text), -1)
		for _, name := range names {
			if !strings.Contains(all.String(), "\nfunc "+name+"(t") && !strings.Contains(all.String(), "\nfunc "+name+"(f") {
				t.Errorf("%s: there is no %s", page, name)
			}
		}
		if len(names) < least {
			t.Errorf("%s names only %d tests", page, len(names))
		}
		_, threats, _ := strings.Cut(string(text), "\n|---|---|---|---|---|\n")
		for threat := range strings.Lines(threats) {
			cells := strings.Split(threat, "|")
			if len(cells) != 7 {
				break // the table ends
			}
			if !test.MatchString(cells[5]) && !strings.Contains(cells[5], "make check") {
				t.Errorf("no test:%s", threat)
			}
		}
	}
}
