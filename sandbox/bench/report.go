package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	reportBegin = "<!-- From here on it is written by `make bench`. -->\n"
	reportEnd   = "<!-- To here. -->\n"
)

// report is what docs/performance.md is made from.
type report struct {
	head  string
	parts []string
	goals []goal
	plots []plotted
}

// goal is a figure that was to be reached.
type goal struct {
	what, reach, figure string
	reached             bool
}

// describe says what the figures hold for.
func (r *report) describe(s stamp, chosen []section) {
	r.head = s.String()
	var absent []string
	for _, s := range sections {
		if !slices.ContainsFunc(chosen, func(c section) bool { return c.name == s.name }) {
			absent = append(absent, s.name)
		}
	}
	if len(absent) > 0 {
		r.head += " Left out of this run: " + strings.Join(absent, ", ") + "."
	}
}

// text adds a paragraph.
func (r *report) text(format string, arguments ...any) {
	r.parts = append(r.parts, fmt.Sprintf(format, arguments...))
}

// table adds one.
func (r *report) table(title string, head []string, rows [][]string) {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n| %s |\n|%s\n", title, strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	r.parts = append(r.parts, strings.TrimSuffix(b.String(), "\n"))
}

// atLeast and atMost add a goal.
func (r *report) atLeast(what string, bound float64, s summary) {
	r.goals = append(r.goals, goal{what, fmt.Sprintf("≥ %g", bound), s.format(2), s.median >= bound})
}

func (r *report) atMost(what string, bound float64, s summary) {
	r.goals = append(r.goals, goal{what, fmt.Sprintf("≤ %g", bound), s.format(2), s.median <= bound})
}

// write puts the report between the two marks of a page, and its plots beside it.
func (r *report) write(page string) error {
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	head, rest, ok := bytes.Cut(content, []byte(reportBegin))
	_, tail, ended := bytes.Cut(rest, []byte(reportEnd))
	if !ok || !ended {
		return fmt.Errorf("cannot find the marks of the report in %q", page)
	}
	for _, p := range r.plots {
		if err := os.WriteFile(filepath.Join(filepath.Dir(page), p.file), p.svg, 0o644); err != nil {
			return err
		}
	}
	body := "\n" + r.body() + "\n\n"
	return os.WriteFile(page, slices.Concat(head, []byte(reportBegin), []byte(body), []byte(reportEnd), tail), 0o644)
}

func (r *report) body() string {
	return r.head + "\n\n" + r.goalTable() + "\n\n" + strings.Join(r.parts, "\n\n")
}

func (r *report) goalTable() string {
	var b strings.Builder
	b.WriteString("| what | was to be | is | |\n|---|---|---|---|\n")
	for _, g := range r.goals {
		verdict := "reached"
		if !g.reached {
			verdict = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", g.what, g.reach, g.figure, verdict)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
