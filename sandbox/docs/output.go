package docs

import (
	"fmt"
	"regexp"
	"strings"
)

// Output is what a command prints, as a page shows it. "…" stands for anything within a
// line, or for any lines if it stands alone. Ages, times and UIDs may differ, and
// columns may be wider.
type Output struct {
	shown   string
	pattern *regexp.Regexp
}

// unstable matches the words that differ from run to run.
var unstable = []*regexp.Regexp{
	regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`),
	regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`),
	regexp.MustCompile(`^(\d+(\.\d+)?(ms|s|m|h|d))+$`),
}

func parseOutput(shown string) (*Output, error) {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for line := range strings.Lines(strings.TrimSpace(shown) + "\n") {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		pattern.WriteString(`[ \t]*`)
		for i, word := range strings.Fields(line) {
			if i > 0 {
				pattern.WriteString(`[ \t]+`)
			}
			pattern.WriteString(patternOf(word))
		}
		pattern.WriteString(`[ \t]*\n`)
	}
	pattern.WriteString(`\z`)
	compiled, err := regexp.Compile(pattern.String())
	if err != nil {
		return nil, fmt.Errorf("cannot compile the pattern of %q: %w", shown, err)
	}
	return &Output{shown: shown, pattern: compiled}, nil
}

func patternOf(word string) string {
	for _, form := range unstable {
		if form.MatchString(word) {
			return strings.TrimSuffix(strings.TrimPrefix(form.String(), "^"), "$")
		}
	}
	return strings.ReplaceAll(regexp.QuoteMeta(word), "…", ".*")
}

// Matches reports whether a command printed it.
func (o *Output) Matches(printed string) bool {
	return o.pattern.MatchString(strings.TrimSpace(printed) + "\n")
}

func (o *Output) String() string { return o.shown }
