// Command budget reads what make test has printed, and fails if a package took more than its share of
// the time. Its tests limit the lines of code. To raise a limit, change its line, and say why beside it.
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// seconds is how long packages take on two cores that do nothing else, as measured on 2026-11-27.
var seconds = map[string]float64{
	"cli":                     10,
	"daemon":                  10,
	"mirror":                  20,
	"mirror/gather":           20,
	"mirror/judge":            30,
	"sandbox/command":         30,
	"sandbox/docs":            330,
	"sandbox/e2e/apart":       160,
	"sandbox/e2e/shared":      200,
	"sandbox/karmada":         40,
	"sandbox/parity":          30,
	"sandbox/pinned/requests": 60,
	"simulation/machine":      110,
	"tools/helm":              30, // which compiles Helm the first time
	"tools/prometheus":        30, // and promtool
}

const (
	usual = 10 // seconds of a package that is not listed
	// share is how many times as long a package may take, if the others take as long as they should.
	share = 6
)

func main() {
	log.SetFlags(0)
	printed, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatalln("budget:", err)
	}
	if problems := slow(string(printed)); len(problems) > 0 {
		log.Fatalln("budget:", strings.Join(problems, "\n"))
	}
}

// reported is how go test reports a package.
var reported = regexp.MustCompile(`(?m)^ok\s+github\.com/karmada-target/karmada-mirror/(\S+)\s+([0-9.]+)s`)

// slow lists the packages that took more than their share. On a slow or busy machine, all take longer:
// then so may each, by as much as the median of the listed ones.
func slow(printed string) (problems []string) {
	factors := []float64{1}
	found := reported.FindAllStringSubmatch(printed, -1)
	took := func(match []string) float64 {
		s, _ := strconv.ParseFloat(match[2], 64) // reported matches only numbers
		return s
	}
	for _, match := range found {
		if quiet, ok := seconds[match[1]]; ok {
			factors = append(factors, took(match)/quiet)
		}
	}
	slices.Sort(factors)
	for _, match := range found {
		limit := share * max(seconds[match[1]], usual) * max(1, factors[len(factors)/2])
		if s := took(match); s > limit {
			problems = append(problems, fmt.Sprintf("%s took %.0f s, and may take %.0f s", match[1], s, limit))
		}
	}
	return problems
}
