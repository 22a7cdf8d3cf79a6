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
	// Quick measures less of everything, and leaves out what takes long unless Only
	// names it.
	Quick bool
	// Repetitions of each arm; its figures are medians. 0 is 3.
	Repetitions int
	// Only are the sections to run, by their names; none is all.
	Only []string
	// Page is the file that gets the report, between its marks, and its plots beside
	// it. Without one the report goes to Out.
	Page string
	// Profiles is the folder that gets a CPU profile of each run of karmada-mirror,
	// which is then a part of this program. Empty for none.
	Profiles string
	// Out is told in lines what happens and what comes out.
	Out io.Writer
}

// section is a part of the report.
type section struct {
	name string
	long bool // left out of a quick run
	run  func(context.Context, *world, *report) error
}

// sections are in the order of the report: what restarts etcd comes late, and what takes
// the webhooks away last.
var sections = []section{
	{"throughput", false, throughput},
	{"policies", false, comparePolicies},
	{"latency", false, compareLatency},
	{"edits", false, editsDuringBackfill},
	{"objects", true, compareSizes},
	{"restart", true, measureRestart},
	{"idle", true, measureIdleness},
	{"memory", true, measureMemory},
	{"removal", false, measureRemoval},
	{"failover", true, measureFailover},
	{"render", false, measureRender},
	{"admission", true, measureAdmission},
	{"fsync", false, withFsync},
	{"webhook", false, withoutWebhook},
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
			return nil, fmt.Errorf("there is no section %q: want one of %s", name, strings.Join(SectionNames(), ", "))
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
	w, err := newWorld(ctx, builder, dir, o)
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
			fmt.Fprintf(o.Out, "it ends early; so far:\n\n%s\n", r.body())
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
