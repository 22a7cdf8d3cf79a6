package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	// rules is the page whose table says which package of ours may import which.
	rules  = "docs/architecture.md"
	module = "github.com/karmada-target/karmada-mirror/"
)

// TestImports: each package imports of ours what its row of the table says, and these stand
// below it; and what the row calls pure is.
func TestImports(t *testing.T) {
	rows := readRows(t)
	packages := parsePackages(t)
	for name := range packages {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.name == name }) {
			t.Errorf("%s has no row for package %q", rules, name)
		}
	}
	for i, r := range rows {
		files, ok := packages[r.name]
		if !ok {
			t.Errorf("%s has a row for package %q, which is not there", rules, r.name)
		}
		for _, may := range r.imports {
			if !slices.ContainsFunc(rows[i+1:], func(below row) bool { return below.name == may }) {
				t.Errorf("%s: %q may import %q, which has no row below it", rules, r.name, may)
			}
		}
		var used []string
		for file, parsed := range files {
			for _, of := range importsOf(parsed) {
				ours, isOurs := strings.CutPrefix(of.path, module)
				if isOurs && !slices.Contains(r.imports, ours) {
					t.Errorf("%s imports %q: package %q may import %q alone, says %s", file, ours, r.name, r.imports, rules)
				}
				used = append(used, ours)
				if r.isPure {
					checkPure(t, file, parsed, of)
				}
			}
		}
		for _, may := range r.imports {
			if !slices.Contains(used, may) {
				t.Errorf("%s: %q may import %q, and does not: take it out of the row", rules, r.name, may)
			}
		}
	}
}

// row is what the table says of a package.
type row struct {
	name    string // from the root of the module; empty for main
	imports []string
	isPure  bool
}

func readRows(t *testing.T) []row {
	t.Helper()
	page, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| package | contains | may import |\n|---|---|---|\n")
	if !found {
		t.Fatalf("%s has no table of the packages", rules)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []row
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 3 {
			t.Fatalf("%s: a row has %d cells: %s", rules, len(cells), line)
		}
		r := row{name: strings.TrimSuffix(strings.Trim(cells[0], "`"), "/"), isPure: strings.HasPrefix(cells[1], "pure:")}
		if r.name == "main.go" {
			r.name = ""
		}
		if cells[2] != "–" {
			r.imports = strings.Split(cells[2], ", ")
		}
		rows = append(rows, r)
	}
	return rows
}

// parsePackages reads the code of each package, without its tests, by the name of the file.
func parsePackages(t *testing.T) map[string]map[string]*ast.File {
	t.Helper()
	packages := map[string]map[string]*ast.File{}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != "." && (strings.HasPrefix(entry.Name(), ".") || isModule(file)):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path.Dir(filepath.ToSlash(file)), ".")
		if packages[name] == nil {
			packages[name] = map[string]*ast.File{}
		}
		packages[name][file] = parsed
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

// imported is a package that a file imports, and the name that it has there.
type imported struct{ path, name string }

func importsOf(f *ast.File) []imported {
	var all []imported
	for _, spec := range f.Imports {
		of, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(err) // it was parsed
		}
		name := path.Base(of)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		all = append(all, imported{of, name})
	}
	return all
}

// checkPure complains of what a pure package must not have: a client, a context, a clock or
// a memory that is guarded. Laziness is allowed: sync.OnceValues, by which the Works of a
// source are encoded once, and only if one is created, though clusters are written at once.
func checkPure(t *testing.T, file string, f *ast.File, of imported) {
	t.Helper()
	for _, never := range []string{"k8s.io/client-go", "k8s.io/utils/clock", "context", "flag", "io", "net", "os", "sync/atomic"} {
		if of.path == never || strings.HasPrefix(of.path, never+"/") && of.path != "k8s.io/client-go/kubernetes/scheme" { // a table of types
			t.Errorf("%s imports %q, and is in a package that %s calls pure", file, of.path, rules)
		}
	}
	allowed := map[string][]string{
		"sync": {"OnceValues"},
		"time": {"Time", "Duration", "Parse", "ParseDuration", "RFC3339", "RFC3339Nano", "Unix", "Millisecond", "Second", "Minute", "Hour"},
	}[of.path]
	if allowed == nil {
		return
	}
	ast.Inspect(f, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && x.Name == of.name && !slices.Contains(allowed, selector.Sel.Name) {
			t.Errorf("%s uses %s.%s, and is in a package that %s calls pure", file, of.path, selector.Sel.Name, rules)
		}
		return true
	})
}
