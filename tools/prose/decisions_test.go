package prose

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// parts are what each decision has, in this order.
var parts = []string{"**Date:** ", "**Alternatives:** ", "**Would change it:** "}

// TestDecisions checks that the index lists each page of decisions, and that each decision
// has all parts.
func TestDecisions(t *testing.T) {
	folder := filepath.Join(repository, "docs", "decisions")
	pages, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	decisions := 0
	for _, path := range pages {
		name := filepath.Base(path)
		if name == "README.md" {
			continue
		}
		if !strings.Contains(string(index), "("+name+")") {
			t.Errorf("README.md does not list %s", name)
		}
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sections := strings.Split(string(page), "\n## ")[1:]
		decisions += len(sections)
		for _, section := range sections {
			for _, problem := range incomplete(section) {
				t.Errorf("%s: %s", name, problem)
			}
		}
	}
	if decisions < 50 {
		t.Errorf("found only %d decisions", decisions)
	}
}

// incomplete lists what is wrong with the parts of a section, which begins with its title.
func incomplete(section string) (problems []string) {
	title, _, _ := strings.Cut(section, "\n")
	last := -1
	for _, part := range parts {
		begins := "\n\n" + part
		at := strings.Index(section, begins)
		switch {
		case strings.Count(section, begins) != 1:
			problems = append(problems, fmt.Sprintf("%q has %d paragraphs that begin with %q, want 1", title, strings.Count(section, begins), part))
		case at < last:
			problems = append(problems, fmt.Sprintf("%q has %q in the wrong place", title, part))
		}
		last = at
	}
	return problems
}

func TestIncomplete(t *testing.T) {
	const whole = "It is so\n\n**Date:** 2026-11-21\n\nBecause.\n\n**Alternatives:** another.\n\n**Would change it:** a reason.\n"
	cases := map[string]struct {
		reason, section string
		problems        int
	}{
		"Whole":      {"it has all parts", whole, 0},
		"NoDate":     {"a decision has a date", strings.Replace(whole, "**Date:** ", "", 1), 1},
		"NoChange":   {"what would change it is missing", strings.Replace(whole, "Would change it", "Changes", 1), 1},
		"Twice":      {"two decisions in one section", whole + strings.TrimPrefix(whole, "It is so"), 3},
		"WrongOrder": {"alternatives come after the date", "It is so\n\n**Alternatives:** another.\n\n**Date:** 2026-11-21\n\n**Would change it:** a reason.\n", 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := incomplete(tc.section); len(got) != tc.problems {
				t.Errorf("%s: %q", tc.reason, got)
			}
		})
	}
}
