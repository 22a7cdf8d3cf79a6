package docs

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/config"
)

// stepPatience is how long one step of a page may take on a busy machine: it ends a step that hangs. The commands that
// wait have limits of their own.
const stepPatience = 5 * time.Minute

// pages reads all pages of the repository.
func pages(t *testing.T) (repository string, all []*Page) {
	t.Helper()
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		hidden := path != repository && strings.HasPrefix(filepath.Base(path), ".")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (hidden || slices.Contains([]string{"testdata", "node_modules"}, entry.Name())):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		page, err := Read(path)
		if err != nil {
			t.Error(err)
			return nil
		}
		all = append(all, page)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return repository, all
}

// TestLinks checks that the targets of the pages' links exist.
func TestLinks(t *testing.T) {
	_, all := pages(t)
	anchors := map[string][]string{}
	for _, page := range all {
		anchors[page.Path] = page.Anchors
	}
	for _, page := range all {
		for _, link := range page.Links {
			path, anchor, _ := strings.Cut(link.Text, "#")
			target := page.Path
			if path != "" {
				target = filepath.Join(filepath.Dir(page.Path), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s:%d: %s does not exist", page.Path, link.Line, link.Text)
			} else if anchor != "" && !slices.Contains(anchors[target], anchor) {
				t.Errorf("%s:%d: %s has no heading %q", page.Path, link.Line, path, anchor)
			}
		}
	}
}

// TestData parses the YAML and JSON in the pages.
func TestData(t *testing.T) {
	_, all := pages(t)
	for _, page := range all {
		for _, block := range page.Data {
			var object struct{ Kind string }
			err := yaml.Unmarshal([]byte(block.Text), &object)
			if err == nil && object.Kind == config.Kind {
				_, err = config.Parse([]byte(block.Text))
			}
			if err != nil {
				t.Errorf("%s:%d: %v", page.Path, block.Line, err)
			}
		}
	}
}

// TestCommands runs the commands of all pages, page by page, on one Karmada with
// karmada-mirror.
func TestCommands(t *testing.T) {
	repository, all := pages(t)
	if t.Failed() {
		t.FailNow()
	}
	w := newWorld(t, repository)
	table := &strings.Builder{}
	rows := tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(rows, "PAGE\tRUN\tSKIPPED\tTOOK")
	for _, page := range withUpgrade(t, all) {
		name, err := filepath.Rel(repository, page.Path)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Steps) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			ran, omitted := w.run(t, page)
			fmt.Fprintf(rows, "%s\t%d\t%d\t%s\n", name, ran, len(omitted), time.Since(began).Round(100*time.Millisecond))
			for _, step := range omitted {
				fmt.Fprintf(rows, "\t\t\t  line %d: %s\n", step.Line, step.Skip)
			}
		})
	}
	if err := rows.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("what was run, and what was skipped:\n%s", table)
}

// withUpgrade are the pages with two as one, because an upgrade must leave what was added: add a resource, upgrade,
// check that the resource is still there, and clean up after the first.
func withUpgrade(t *testing.T, all []*Page) []*Page {
	t.Helper()
	take := func(name string) *Page {
		i := slices.IndexFunc(all, func(p *Page) bool { return filepath.Base(p.Path) == name })
		if i < 0 {
			t.Fatalf("there is no page %s", name)
		}
		page := all[i]
		all = slices.Delete(all, i, i+1)
		return page
	}
	add, upgrade := take("add-a-resource.md"), take("upgrade.md")
	last := len(add.Steps) - 1
	if !add.Steps[last].Hidden {
		t.Fatal("the last step of add-a-resource.md does not clean up")
	}
	still := &Step{Block: Block{Text: "kubectl --kubeconfig karmada.config apply -f examples/virtualmachine/virtualmachine.yaml\n" +
		"kubectl --kubeconfig karmada.config -n karmada-system get configmap karmada-mirror -o yaml | karmada-mirror validate -f -\n" +
		"kubectl --kubeconfig karmada.config -n machines annotate --overwrite virtualmachine builder note=upgraded\n" +
		"timeout 60 bash -c 'until kubectl --kubeconfig member1.config -n machines get virtualmachine builder -o yaml | grep -q upgraded; do sleep 0.3; done'\n"},
		Hidden: true}
	return append(all, &Page{Path: add.Path, Steps: slices.Concat(add.Steps[:last], upgrade.Steps, []*Step{still, add.Steps[last]})})
}

// run runs a page in its own folder.
func (w *world) run(t *testing.T, page *Page) (ran int, omitted []*Step) {
	t.Helper()
	steps := make([]*Step, 0, len(page.Steps))
	for _, step := range page.Steps {
		if step.Skip == "" {
			steps = append(steps, step)
		} else {
			omitted = append(omitted, step)
		}
	}
	if len(steps) == 0 {
		return 0, omitted
	}
	ctx := t.Context()
	before, err := w.state(ctx)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w.prepare(t, dir)
	shell, err := NewShell(ctx, dir, t.TempDir(), w.environment(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shell.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, step := range steps {
		if err := runStep(ctx, shell, step); err != nil {
			t.Fatalf("%s:%d:\n%s\n%v", page.Path, step.Line, step.Text, err)
		}
		if !step.Hidden {
			ran++
		}
	}
	w.wantState(ctx, t, before)
	return ran, omitted
}

func runStep(ctx context.Context, shell *Shell, step *Step) error {
	ctx, cancel := context.WithTimeout(ctx, stepPatience)
	defer cancel()
	return shell.Run(ctx, step)
}
