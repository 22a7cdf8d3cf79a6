package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// isTerminal reports whether in is a terminal, with a user to ask.
func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// stripControl replaces everything in a text that a terminal would obey: parts of it may come from a
// file or an API server.
func stripControl(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// ask returns an error that says what was not done, unless the answer is yes.
func ask(in io.Reader, out io.Writer, what, otherwise string) error {
	fmt.Fprintf(out, "%s Continue? [y/N] ", what)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New(otherwise)
	}
	return nil
}

// confirm asks on a terminal; elsewhere it returns an error that asks for --yes.
func confirm(in io.Reader, out io.Writer, what, otherwise string) error {
	if !isTerminal(in) {
		return fmt.Errorf("%s: cannot ask without a terminal: give --yes. %s", otherwise, what)
	}
	return ask(in, out, what, otherwise)
}
