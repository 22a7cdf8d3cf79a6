// Package bench measures karmada-mirror against a bare loop that writes the same
// Works, and against Karmada's own policies. All share one etcd, API server and webhook, and
// take turns. It prints a table, and judges nothing.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/karmada-target/karmada-mirror/sandbox/build"
)

// Options say what to measure.
type Options struct {
	// Quick measures less of everything, and skips the long sections unless Only names
	// them.
	Quick bool
	// Repetitions is how often each arm runs.
	Repetitions int
	// Only names the sections to run; empty means all.
	Only []string
	// Against is an earlier revision of karmada-mirror that takes turns with this one in the
	// section "throughput"; empty for none.
	Against string
	// JSON is the path of a file for the figures; empty for none.
	JSON string
	// Out gets a line for everything that is measured, and then the table.
	Out io.Writer
}

// section is a part of the benchmark.
type section struct {
	name string
	long bool // skipped in a quick run
	run  func(context.Context, *world, *report) error
}

var sections = []section{
	{name: "throughput", run: compareThroughput},
	{name: "policies", run: comparePolicies},
	{name: "latency", run: compareLatency},
	{name: "memory", long: true, run: measureMemory},
	{name: "restart", long: true, run: measureRestart},
	{name: "commands", long: true, run: measureCommands},
}

// SectionNames lists what Options.Only may name.
func SectionNames() []string {
	var names []string
	for _, s := range sections {
		names = append(names, s.name)
	}
	return names
}

func (o Options) selected() ([]section, error) {
	for _, name := range o.Only {
		if !slices.Contains(SectionNames(), name) {
			return nil, fmt.Errorf("there is no section %q: use one of %s", name, strings.Join(SectionNames(), ", "))
		}
	}
	var chosen []section
	for _, s := range sections {
		if slices.Contains(o.Only, s.name) || len(o.Only) == 0 && !(o.Quick && s.long) {
			chosen = append(chosen, s)
		}
	}
	return chosen, nil
}

// Run measures, and prints the table. If a section fails, it prints what it has.
func Run(ctx context.Context, o Options) (err error) {
	chosen, err := o.selected()
	if err != nil {
		return err
	}
	builder, err := build.New(ctx, o.Out)
	if err != nil {
		return err
	}
	r, err := newReport(ctx, builder)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "karmada-mirror-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w, err := newWorld(ctx, builder, dir, o)
	if w != nil && w.Karmada != nil {
		defer func() { err = errors.Join(err, w.close()) }()
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.print(o.Out)) }()
	for _, s := range chosen {
		began := time.Now()
		if err := s.run(ctx, w, r); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(o.Out, "%s took %s\n", s.name, time.Since(began).Round(time.Second))
	}
	if o.JSON == "" {
		return nil
	}
	return r.write(o.JSON)
}
