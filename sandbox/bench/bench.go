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
	// Repetitions is how often each arm runs; its figures are medians. 0 means 3.
	Repetitions int
	// Only names the sections to run; empty means all.
	Only []string
	// Page is the file that gets the report, between its marks; the plots go next to it. If
	// it is empty, the report goes to Out.
	Page string
	// Profiles is the folder for a CPU profile of each run of karmada-mirror, which then
	// runs as part of this program. Empty means none; not for the section "revisions".
	Profiles string
	// Against is an earlier revision of karmada-mirror, for the section "revisions".
	Against string
	// Out gets a line for everything that is measured.
	Out io.Writer
}

// section is a part of the report.
type section struct {
	name string
	long bool // skipped in a quick run
	// apart: it runs only if it is named, and writes no part of the page.
	apart bool
	// nodes: it starts members with nodes.
	nodes bool
	run   func(context.Context, *world, *report) error
}

// sections are in the order of the report. The section that restarts etcd comes late, and the
// one that removes the webhooks last.
var sections = []section{
	{name: "throughput", run: throughput},
	{name: "differences", run: compareDifferences},
	{name: "policies", run: comparePolicies},
	{name: "latency", run: compareLatency},
	{name: "edits", run: editsDuringBackfill},
	{name: "objects", long: true, run: compareSizes},
	{name: "restart", long: true, run: measureRestart},
	{name: "idle", long: true, run: measureIdleness},
	{name: "memory", long: true, run: measureMemory},
	{name: "sizing", apart: true, run: measureSizing},
	{name: "rollouts", apart: true, nodes: true, run: compareRollouts},
	{name: "waves", apart: true, run: compareWaves},
	{name: revisionsSection, apart: true, run: compareRevisions},
	{name: "removal", run: measureRemoval},
	{name: "failover", long: true, run: measureFailover},
	{name: "render", run: measureRender},
	{name: "admission", long: true, run: measureAdmission},
	{name: "fsync", run: withFsync},
	{name: "webhook", run: withoutWebhook},
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
	if slices.Contains(o.Only, revisionsSection) != (o.Against != "") {
		return nil, fmt.Errorf("the section %[1]s needs a revision to compare with, and no other section does: use --only %[1]s --against REVISION", revisionsSection)
	}
	if o.Against != "" && o.Profiles != "" {
		return nil, errors.New("cannot profile an earlier revision: use either --profiles or --against")
	}
	for _, s := range sections {
		if slices.Contains(o.Only, s.name) || len(o.Only) == 0 && !s.apart && !(o.Quick && s.long) {
			chosen = append(chosen, s)
		}
	}
	return chosen, nil
}

// Run measures, and writes the report.
func Run(ctx context.Context, o Options) (err error) {
	chosen, err := o.selected()
	if err != nil {
		return err
	}
	builder, err := build.New(ctx, o.Out)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "karmada-mirror-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w, err := newWorld(ctx, builder, dir, o, slices.ContainsFunc(chosen, func(s section) bool { return s.nodes }))
	if w != nil && w.Karmada != nil {
		defer func() { err = errors.Join(err, w.close()) }()
	}
	if err != nil {
		return err
	}
	r := &report{}
	s, err := w.takeStamp(ctx)
	if err != nil {
		return err
	}
	r.describe(s, chosen)
	for _, s := range chosen {
		began := time.Now()
		fmt.Fprintf(o.Out, "%s:\n", s.name)
		if err := s.run(ctx, w, r); err != nil {
			fmt.Fprintf(o.Out, "ended early; so far:\n\n%s\n", r.body())
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(o.Out, "%s took %s\n", s.name, time.Since(began).Round(time.Second))
	}
	if o.Page == "" {
		_, err := fmt.Fprintln(o.Out, r.body())
		return err
	}
	return r.write(o.Page)
}
