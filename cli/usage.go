package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// usageError is a mistake in the arguments of a command.
type usageError struct {
	// cmd is the command; reportMisuse fills it in.
	cmd *cobra.Command
	err error
}

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

// misuse returns a usageError, for a command to return.
func misuse(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

// reportMisuse makes a command and its subcommands report mistakes in their arguments as usageErrors,
// which print the usage: those that cobra finds, and those that the command returns.
func reportMisuse(cmd *cobra.Command) {
	if cmd.HasSubCommands() {
		wantSubcommand(cmd)
	}
	if !cmd.HasParent() { // subcommands inherit these
		cmd.SetFlagErrorFunc(flagError)
		cmd.SetUsageTemplate(strings.Replace(cmd.UsageTemplate(), "{{if .Runnable}}", "{{if not .HasAvailableSubCommands}}", 1))
	}
	check := cmd.Args
	if check == nil {
		check = cobra.ArbitraryArgs
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		// Cobra itself looks at required flags later.
		if err := cmp.Or(check(cmd, args), cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()); err != nil {
			return &usageError{cmd, err}
		}
		return nil
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			if usage := (*usageError)(nil); errors.As(err, &usage) {
				usage.cmd = cmd
			}
			return err
		}
	}
	for _, sub := range cmd.Commands() {
		reportMisuse(sub)
	}
}

// wantSubcommand makes a command that only groups others reject an unknown subcommand. Cobra would
// print the help, and succeed.
func wantSubcommand(cmd *cobra.Command) {
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
		if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
			err = fmt.Errorf("%w: did you mean %s?", err, strings.Join(like, " or "))
		}
		return err
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// flagError reports a mistake in the flags. If a subcommand is misspelled, its flags are unknown
// too: the subcommand is the mistake.
func flagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() {
		err = cmp.Or(cmd.ValidateArgs(cmd.Flags().Args()), err)
	}
	return &usageError{cmd, err}
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
	use, lists := usage.cmd.UseLine(), "flags"
	if usage.cmd.HasSubCommands() {
		use, lists = usage.cmd.CommandPath()+" [command]", "commands"
	}
	fmt.Fprintf(out, "\nUsage:\n  %s\n", use)
	if usage.cmd.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", usage.cmd.Example)
	}
	fmt.Fprintf(out, "\nRun '%s --help' for its %s.\n", usage.cmd.CommandPath(), lists)
}
