// Command vulndb makes a vulnerability database for govulncheck, in the form of
// https://go.dev/doc/security/vuln/database, of the entries that concern the
// modules on standard input, one path per line. It reads the OSV files of a
// checkout of https://go.googlesource.com/vulndb.
//
//	go list -m -f '{{.Path}}' all | vulndb CHECKOUT/data/osv OUTPUT "$(git -C CHECKOUT log -1 --format=%cI)"
//
// A checkout does not say when an entry was changed: all count as changed when
// it was made.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// entry is what the indexes need of an OSV file.
type entry struct {
	ID       string   `json:"id"`
	Aliases  []string `json:"aliases,omitempty"`
	Affected []struct {
		Package struct {
			Name string `json:"name"`
		} `json:"package"`
		Ranges []struct {
			Events []struct {
				Fixed string `json:"fixed"`
			} `json:"events"`
		} `json:"ranges"`
	} `json:"affected"`
}

type moduleVuln struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Fixed    string    `json:"fixed,omitempty"`
}

type module struct {
	Path  string       `json:"path"`
	Vulns []moduleVuln `json:"vulns"`
}

type vuln struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Aliases  []string  `json:"aliases,omitempty"`
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: vulndb OSV-FOLDER OUTPUT RFC-3339-TIME < MODULES")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "vulndb:", err)
		os.Exit(1)
	}
}

func run(from, to, at string) error {
	asOf, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return err
	}
	// The standard library and the go command are modules of the database.
	wanted := map[string]bool{"stdlib": true, "toolchain": true}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		wanted[lines.Text()] = true
	}
	files, err := filepath.Glob(filepath.Join(from, "GO-*.json"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("cannot find OSV files in %q: %w", from, err)
	}
	modules, vulns := map[string]*module{}, []vuln{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var e entry
		if err := json.Unmarshal(content, &e); err != nil {
			return fmt.Errorf("cannot decode %q: %w", file, err)
		}
		if !index(modules, e, wanted, asOf) {
			continue
		}
		vulns = append(vulns, vuln{e.ID, asOf, e.Aliases})
		var compact bytes.Buffer
		if err := json.Compact(&compact, content); err != nil {
			return err
		}
		if err := write(filepath.Join(to, "ID", e.ID+".json"), json.RawMessage(compact.Bytes())); err != nil {
			return err
		}
	}
	sorted := slices.SortedFunc(maps.Values(modules), func(a, b *module) int { return cmp.Compare(a.Path, b.Path) })
	for name, content := range map[string]any{"db": map[string]time.Time{"modified": asOf}, "modules": sorted, "vulns": vulns} {
		if err := write(filepath.Join(to, "index", name+".json"), content); err != nil {
			return err
		}
	}
	return nil
}

// index enters an OSV entry under its modules; false if none of them is wanted.
func index(modules map[string]*module, e entry, wanted map[string]bool, asOf time.Time) bool {
	fixed := map[string]string{}
	for _, affected := range e.Affected {
		path := affected.Package.Name
		if !wanted[path] {
			continue
		}
		fixed[path] = ""
		for _, r := range affected.Ranges {
			for _, event := range r.Events {
				if event.Fixed != "" {
					fixed[path] = event.Fixed
				}
			}
		}
	}
	for path, version := range fixed {
		if modules[path] == nil {
			modules[path] = &module{Path: path}
		}
		modules[path].Vulns = append(modules[path].Vulns, moduleVuln{e.ID, asOf, version})
	}
	return len(fixed) > 0
}

func write(path string, content any) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	encoded, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(encoded, '\n'), 0o644)
}
