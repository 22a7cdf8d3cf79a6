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

// isTerminal reports whether there is somebody to ask.
func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// harmless is a text of which a terminal obeys nothing: some of it may be a file's or an API
// server's.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// ask returns an error that says what was not done unless the answer is yes.
func ask(in io.Reader, out io.Writer, what, otherwise string) error {
	fmt.Fprintf(out, "%s Go on? [y/N] ", what)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New(otherwise)
	}
	return nil
}

// confirm asks on a terminal; elsewhere there is nobody to answer, and --yes has to say so.
func confirm(in io.Reader, out io.Writer, what, otherwise string) error {
	if !isTerminal(in) {
		return fmt.Errorf("%s: there is no terminal to ask on, and no --yes. %s", otherwise, what)
	}
	return ask(in, out, what, otherwise)
}
