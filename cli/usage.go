package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// usageError is a mistake in the arguments of a command.
type usageError struct {
	cmd *cobra.Command
	err error
}

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

// tellUsage has a command, and those below it, say with a mistake in their arguments how they are
// used.
func tellUsage(cmd *cobra.Command) {
	if !cmd.HasParent() { // those below have it of their parents
		cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{cmd, err} })
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return &usageError{cmd, err}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		tellUsage(sub)
	}
}

// mustNotBeEmpty refuses flags that are given and have nothing in them, as by a variable of a
// script that is not set: left out, they choose everything.
func mustNotBeEmpty(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		flag := cmd.Flag(name)
		if flag != nil && flag.Changed && (flag.Value.String() == "" || flag.Value.String() == "[]") {
			return &usageError{cmd, fmt.Errorf("--%s is empty: leave it out to choose all", name)}
		}
	}
	return nil
}

// printUsage prints how a command is used, if that was the mistake.
func printUsage(out io.Writer, err error) {
	var usage *usageError
	if !errors.As(err, &usage) {
		return
	}
	fmt.Fprintf(out, "\nUsage:\n  %s\n", usage.cmd.UseLine())
	if usage.cmd.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", usage.cmd.Example)
	}
	fmt.Fprintf(out, "\nRun '%s --help' for its flags.\n", usage.cmd.CommandPath())
}
