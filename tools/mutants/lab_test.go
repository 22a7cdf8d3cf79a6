package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestList checks that the daemon contains what each mutant changes, exactly
// once.
func TestList(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := (lab{root: root, folder: t.TempDir()}).prepare(all()); err != nil {
		t.Error(err)
	}
}

// aModule has one function that matters, and a test of it.
var aModule = map[string]string{
	"go.mod":            "module example.com/a\n\ngo 1.26\n",
	"sum/sum.go":        "package sum\n\nfunc Of(a, b int) int {\n\tif a == 0 {\n\t\treturn b\n\t}\n\treturn a + b\n}\n",
	"sum/sum_test.go":   "package sum\n\nimport \"testing\"\n\nfunc TestOf(t *testing.T) {\n\tif Of(1, 2) != 3 {\n\t\tt.Error(Of(1, 2))\n\t}\n}\n",
	"user/user.go":      "package user\n\nimport \"example.com/a/sum\"\n\nfunc Zero() int { return sum.Of(0, 7) }\n",
	"user/user_test.go": "package user\n\nimport \"testing\"\n\nfunc TestZero(t *testing.T) {\n\tif Zero() != 7 {\n\t\tt.Error(Zero())\n\t}\n}\n",
}

func TestLab(t *testing.T) {
	root := t.TempDir()
	for name, text := range aModule {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		reason   string
		old, new string
		excuse   string
		want     string // in what is printed
		wantErr  string // empty if all is well
	}{
		"Killed":           {"the package's own test notices", "return a + b", "return a - b", "", "TestOf", ""},
		"KilledElsewhere":  {"the test of a package that uses it does", "return b", "return 0", "", "TestZero", ""},
		"Survived":         {"no test notices", "a == 0", "a == 0 && b < 99", "", "survived", "no test notices"},
		"Explained":        {"no test can", "return a + b", "return b + a", "a sum has no order", "a sum has no order", ""},
		"WronglyExplained": {"a test does", "return a + b", "return a - b", "it is hardly ever called", "TestOf", "out of date"},
		"DoesNotCompile":   {"nothing is proved", "return a + b", "return c", "", "?", "does not compile"},
		"Missing":          {"the code has moved on", "return a * b", "return a", "", "", "0 times"},
		"Twice":            {"it is unclear which one is meant", "return", "panic", "", "", "2 times"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			l := lab{root: root, folder: t.TempDir(), packages: []string{"sum", "user"}, atOnce: 1, out: &out, now: time.Now}
			err := l.try(t.Context(), []mutant{{name: "m", file: "sum/sum.go", old: tc.old, new: tc.new, harm: "a wrong sum", equivalent: tc.excuse}})
			if !strings.Contains(out.String(), tc.want) || (err == nil) != (tc.wantErr == "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("%s: printed %q, and %v", tc.reason, out.String(), err)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	mutants := []mutant{{name: "a"}, {name: "b"}, {name: "c"}, {name: "aa"}}
	cases := map[string]struct {
		reason    string
		run, part string
		want      string
		wantErr   string
	}{
		"All":         {"one part is everything", "", "0/1", "a b c aa", ""},
		"First":       {"each third one", "", "0/3", "a aa", ""},
		"Last":        {"the parts add up", "", "2/3", "c", ""},
		"Named":       {"both hold", "^a", "0/1", "a aa", ""},
		"NoName":      {"nothing was tried", "^b", "0/3", "", "no mutant of part 0/3"},
		"NoPart":      {"parts are counted from zero", "", "3/3", "", "there is no part"},
		"NoNumber":    {"it is no part", "", "all", "", "there is no part"},
		"NoParts":     {"there are none of nothing", "", "0/0", "", "there is no part"},
		"NoSuchThing": {"it is no regular expression", "(", "0/1", "", "missing closing"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			chosen, err := choose(mutants, tc.run, tc.part)
			var names []string
			for _, m := range chosen {
				names = append(names, m.name)
			}
			if got := strings.Join(names, " "); got != tc.want || (err == nil) != (tc.wantErr == "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("%s: %q, %v", tc.reason, got, err)
			}
		})
	}
}
