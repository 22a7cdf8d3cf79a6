package cli

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMisuse gives the commands wrong arguments: none does anything, and each prints its usage.
func TestMisuse(t *testing.T) {
	file := filepath.Join("..", "manifests", "karmada", "configmap.yaml")
	cases := map[string]struct {
		reason    string
		arguments string
		want      string // in the message
	}{
		"unknown command":            {"a typo", "stauts", `unknown command "stauts" for "karmada-mirror": did you mean status?`},
		"unknown command with flags": {"its flags are not the mistake", "stauts -A -o wide", `unknown command "stauts"`},
		"unlike any command":         {"there is nothing to suggest", "frobnicate", `unknown command "frobnicate" for "karmada-mirror"`},
		"unknown subcommand":         {"approving nothing must not succeed", "deletions aprove", `unknown command "aprove" for "karmada-mirror deletions": did you mean approve?`},
		"subcommand with flags":      {"its flags are not the mistake", "deletions aprove --yes", "did you mean approve?"},
		"unknown flag of a group":    {"and no subcommand", "deletions --nonsense", "unknown flag: --nonsense"},
		"unknown flag":               {"a typo", "status --nonsense", "unknown flag: --nonsense"},
		"unknown flag of diff":       {"it has exit codes of its own", "diff --nonsense", "unknown flag: --nonsense"},
		"flag without a value":       {"it is the last word", "wait cm/page --for", "flag needs an argument"},

		"purge without flags":    {"it must know what to delete", "purge", `required flag(s) "resource" not set`},
		"render without flags":   {"it must know what to render", "render", `[clusters cluster-file] is required`},
		"render without one":     {"both are needed", "render --clusters m1", `[filename kustomize] is required`},
		"validate without flags": {"it must know what to read", "validate", `required flag(s) "filename" not set`},
		"validate an argument":   {"a file needs -f", "validate config.yaml", "config.yaml"},
		"version of something":   {"it takes no argument", "version 1", `unknown command "1"`},

		"explain nothing":         {"it needs an object", "explain", "give the NAME"},
		"explain a type":          {"it needs an object", "explain cm", "give the NAME"},
		"explain both forms":      {"TYPE is given twice", "explain cm cm/x", `"cm/x" after TYPE "cm"`},
		"explain half a name":     {"the variable for NAME was empty", "explain cm/", `cannot use "cm/"`},
		"explain no type":         {"the variable for TYPE was empty", "explain /page", `cannot use "/page"`},
		"explain too many parts":  {"a SOURCE has three", "explain cm/a/b/c", `cannot use "cm/a/b/c"`},
		"explain an empty middle": {"the variable for NAMESPACE was empty", "explain cm//page", `cannot use "cm//page"`},
		"explain a name too few":  {"the second has no TYPE", "explain cm/page other", `cannot use "other"`},
		"explain a cluster":       {"it is in no namespace", "explain nodes/shop/page", "nodes are not namespaced"},
		"explain as a table":      {"that is status's form", "explain cm/page -o wide", `cannot print "wide"`},
		"status of both forms":    {"TYPE is given twice", "status cm cm/x", `"cm/x" after TYPE "cm"`},
		"status of half a name":   {"the variable for NAME was empty", "status cm/", `cannot use "cm/"`},
		"status in a form":        {"an unknown one", "status -o nothing", `cannot print "nothing"`},
		"status of labels, watch": {"Works do not have them", "status -w -l app=web", "cannot use --watch with --selector"},
		"status of any labels":    {"an unset variable", "status --selector=", "--selector is empty"},
		"status of a ConfigMap":   {"it needs a namespace", "status --config-map mirror", `--config-map "mirror"`},
		"diff of both forms":      {"TYPE is given twice", "diff cm cm/x", `"cm/x" after TYPE "cm"`},
		"diff of too many parts":  {"a SOURCE has three", "diff cm/a/b/c", `cannot use "cm/a/b/c"`},
		"diff of both":            {"either objects or manifests", "diff cm page -f .", "give either objects or manifests"},
		"wait for both forms":     {"TYPE is given twice", "wait cm cm/x", `"cm/x" after TYPE "cm"`},
		"wait for a type":         {"it needs an object", "wait cm", "give the NAME"},
		"wait for ever":           {"an unknown state", "wait cm/page --for=ever", `cannot wait for "ever"`},

		"purge a namespace":   {"the configuration says which", "purge --resource cm -n shop", "cannot purge by --namespace"},
		"render in a form":    {"an unknown one", "render -o nothing --clusters m1 -f " + file, "output format"},
		"render for a glob":   {"it does not know the clusters", "render --clusters m* -f " + file, "--clusters takes names only"},
		"list in a form":      {"an unknown one", "deletions list -o nothing", `cannot print "nothing"`},
		"list of an argument": {"a resource needs --resource", "deletions list cm", `unknown command "cm"`},
		"list of no cluster":  {"an unset variable", "deletions list --member=", "--member is empty"},
		"approve a ConfigMap": {"it needs a namespace", "deletions approve --config-map mirror", `--config-map "mirror"`},
		"kubeconfig in forms": {"there are two", "kubeconfig -o secret --directory mirror", "give either"},
	}
	paths := server()
	paths["/api/v1"] = serving("v1", namespaced("configmaps", "ConfigMap"), clusterWide("nodes", "Node"))
	kubeconfig := serve(t, paths, nil)
	t.Setenv("KUBECONFIG", kubeconfig)
	t.Setenv("KUBECACHEDIR", t.TempDir())
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			arguments := strings.Fields(c.arguments)
			output, err := execute(arguments...)
			if err == nil {
				t.Fatalf("%s: it succeeds: %s", c.reason, output)
			}
			var told bytes.Buffer
			code, want := report(&told, err, false), 1
			if arguments[0] == "diff" {
				want = exitTrouble
			}
			text := told.String()
			if code != want || output != "" {
				t.Errorf("%s: exit code %d, and printed: %s", c.reason, code, output)
			}
			if !strings.Contains(text, c.want) || !strings.Contains(text, "\nUsage:\n  karmada-mirror ") || !strings.Contains(text, " --help' for its ") {
				t.Errorf("%s: it does not say %q and the usage:\n%s", c.reason, c.want, text)
			}
		})
	}
}

// TestGroups: a command that only groups others prints its help, and the usage of an unknown
// subcommand is the group's.
func TestGroups(t *testing.T) {
	for _, group := range [][]string{nil, {"deletions"}} {
		output, err := execute(group...)
		use := strings.Join(slices.Concat([]string{"karmada-mirror"}, group), " ")
		if err != nil || !strings.Contains(output, map[bool]string{true: "Look at objects:", false: "Available Commands:"}[group == nil]) || !strings.Contains(output, "\nUsage:\n  "+use+" [command]\n") {
			t.Errorf("%s: %v\n%s", use, err, output)
		}
		_, err = execute(append(slices.Clone(group), "nonsense")...)
		var told bytes.Buffer
		printUsage(&told, err)
		if want := "\nUsage:\n  " + use + " [command]\n\nRun '" + use + " --help' for its commands.\n"; told.String() != want {
			t.Errorf("%s nonsense: %q", use, told.String())
		}
	}
}
