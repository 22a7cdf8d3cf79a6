// Command way measures how far a reader has to go to follow what happens to one identity:
// from reconcile through everything that it calls, in source order, into each of our
// functions once. It prints the path, and then counts files and how often the reader
// returns to an earlier file: the price of files that are read for several reasons. It
// counts the same for each package alone, as if everything it calls elsewhere were known.
//
// Functions that are passed on are followed like calls, and calls through an interface only
// if exactly one of our types implements it.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"log"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
)

// begin is the function where the path begins.
const begin = "(*github.com/karmada-target/karmada-mirror/mirror.Controller).reconcile"

func main() {
	root := flag.String("root", "..", "the folder of the daemon's module")
	flag.Parse()
	w := way{fset: token.NewFileSet(), uses: map[*ast.Ident]types.Object{}, bodies: map[string]*ast.BlockStmt{}, tallies: map[string]*tally{"all": {}}}
	if err := w.load(*root); err != nil {
		log.Fatalln("way:", err)
	}
	w.follow(begin)
	for _, name := range slices.Sorted(maps.Keys(w.tallies)) {
		t := w.tallies[name]
		fmt.Printf("%-8s %3d functions in %2d files, %3d returns\n", name, t.functions, len(t.entered), t.returns)
	}
}

// tally counts along the path.
type tally struct {
	present            string // the current file
	entered            map[string]bool
	functions, returns int
}

func (t *tally) enter(file string) {
	if t.entered == nil {
		t.entered = map[string]bool{}
	}
	if file != t.present && t.entered[file] {
		t.returns++
	}
	t.present, t.entered[file], t.functions = file, true, t.functions+1
}

// way is the code, and what was counted in it.
type way struct {
	fset    *token.FileSet
	uses    map[*ast.Ident]types.Object
	bodies  map[string]*ast.BlockStmt // of functions not followed yet, by their full names
	ours    []types.Type
	tallies map[string]*tally // by package, and for all
}

// load reads our packages.
func (w *way) load(root string) error {
	const all = packages.NeedName | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports
	ours, err := packages.Load(&packages.Config{Mode: all, Dir: root, Fset: w.fset}, "./...")
	if err != nil {
		return err
	}
	for _, p := range ours {
		if len(p.Errors) > 0 {
			return p.Errors[0]
		}
		maps.Copy(w.uses, p.TypesInfo.Uses)
		for _, object := range p.TypesInfo.Defs {
			if t, ok := object.(*types.TypeName); ok && !types.IsInterface(t.Type()) {
				w.ours = append(w.ours, types.NewPointer(t.Type()))
			}
		}
		for _, f := range p.Syntax {
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
					w.bodies[p.TypesInfo.Defs[d.Name].(*types.Func).FullName()] = d.Body
				}
			}
		}
	}
	return nil
}

// follow goes through a function, and then through everything that it leads to.
func (w *way) follow(name string) {
	body, ok := w.bodies[name]
	if !ok {
		return
	}
	delete(w.bodies, name)
	dir, file := filepath.Split(w.fset.Position(body.Pos()).Filename)
	in := filepath.Base(dir)
	if w.tallies[in] == nil {
		w.tallies[in] = &tally{}
	}
	w.tallies[in].enter(file)
	w.tallies["all"].enter(filepath.Join(in, file))
	fmt.Println(filepath.Join(in, file), name)
	ast.Inspect(body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if f, ok := w.uses[id].(*types.Func); ok {
				w.follow(w.concrete(f.Origin()).FullName())
			}
		}
		return true
	})
}

// concrete is the method that a call through an interface reaches, if there is only one.
func (w *way) concrete(f *types.Func) *types.Func {
	to := f.Signature().Recv()
	if to == nil || !types.IsInterface(to.Type()) || f.Pkg() == nil { // error has no package
		return f
	}
	found := f
	for _, t := range w.ours {
		if !types.Implements(t, to.Type().Underlying().(*types.Interface)) {
			continue
		}
		if found != f {
			return f
		}
		method, _, _ := types.LookupFieldOrMethod(t, false, f.Pkg(), f.Name())
		found = method.(*types.Func)
	}
	return found
}
