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

// tellUsage makes a command and its subcommands report mistakes in their arguments as usageErrors,
// which print the usage.
func tellUsage(cmd *cobra.Command) {
	if !cmd.HasParent() { // subcommands inherit it
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

// mustNotBeEmpty rejects flags that are given but empty, as by an unset variable in a script: an
// omitted one selects everything.
func mustNotBeEmpty(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		flag := cmd.Flag(name)
		if flag != nil && flag.Changed && (flag.Value.String() == "" || flag.Value.String() == "[]") {
			return &usageError{cmd, fmt.Errorf("--%s is empty: omit it to select all", name)}
		}
	}
	return nil
}

// printUsage prints the usage of a command, if the error is a usageError.
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
