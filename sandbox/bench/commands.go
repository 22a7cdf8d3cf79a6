package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// listWorks is the command that the others are compared with.
const listWorks = "kubectl get works -A"

// measureCommands times what users type when there are 6,000 Works, beside a list of the Works.
func measureCommands(ctx context.Context, w *world, r *report) (err error) {
	s := scenario{configMap1k, pick(w.Quick, 200, 2_000), 3}
	if err := w.joinClusters(ctx, s.clusters); err != nil {
		return err
	}
	if err := w.provide(ctx, s); err != nil {
		return err
	}
	d, err := w.daemon.launch(ctx, w, configMaps)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	if err := d.settled(ctx, configMaps, s.sources, s.works()); err != nil {
		return err
	}
	one := "configmap/" + sourceName(0)
	commands := []string{
		listWorks, "status " + one, "explain " + one, "diff " + one, "wait " + one + " --timeout=0s",
		"status", "status --summary", "status --needs-attention", "status -o json", "status -A", "diff", "check", "deletions list",
	}
	took := map[string][]float64{}
	for range w.Repetitions {
		for _, command := range commands {
			seconds, err := w.time(ctx, command)
			if err != nil {
				return err
			}
			took[command] = append(took[command], seconds)
		}
	}
	what := fmt.Sprintf("commands with %d Works", s.works())
	r.add(what, listWorks, "s", took[listWorks]...)
	for _, command := range commands[1:] {
		r.addOver(what, "karmada-mirror "+command, "s", took[command], listWorks, took[listWorks])
	}
	return nil
}

// time runs a command, as an administrator, in the namespace of the sources. Some exit with 1, since no member applies the Works.
func (w *world) time(ctx context.Context, line string) (seconds float64, err error) {
	words := strings.Fields(line)
	program, arguments := w.daemon.program, append(words, "--config-map="+configurationNamespace+"/"+configurationName)
	if line == listWorks {
		program, arguments = w.hyperkarmada, words
	}
	if !strings.Contains(line, " -A") && words[0] != "check" && words[0] != "deletions" {
		arguments = append(arguments, "--namespace="+namespace)
	}
	command := exec.CommandContext(ctx, program, append(arguments, "--kubeconfig="+w.Kubeconfig())...)
	command.Env = append(os.Environ(), "HOME="+w.home) // where discovery is kept
	begun := time.Now()
	output, err := command.CombinedOutput()
	seconds = time.Since(begun).Seconds()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil
	}
	if err != nil {
		return 0, fmt.Errorf("cannot run %q: %w: %s", line, err, output)
	}
	w.say("%s: %.2f s", line, seconds)
	return seconds, nil
}
