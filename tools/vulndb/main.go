// Command vulndb keeps the copy of the Go vulnerability database that make check
// uses: an archive in the form of https://go.dev/doc/security/vuln/database, reduced
// to the entries for some modules. It does not look for vulnerabilities; govulncheck
// does.
//
//	vulndb reduce WHOLE ARCHIVE < MODULES   makes it from https://vuln.go.dev/vulndb.zip
//	vulndb unpack ARCHIVE FOLDER            for govulncheck, which reads no archives
//	vulndb age URL DAYS                     fails if the database is older
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

var errUsage = errors.New("usage: vulndb reduce WHOLE ARCHIVE < MODULES | unpack ARCHIVE FOLDER | age URL DAYS")

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout, time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, "vulndb:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer, now time.Time) error {
	if len(args) != 3 {
		return errUsage
	}
	switch args[0] {
	case "reduce":
		modules, err := lines(in)
		if err != nil {
			return fmt.Errorf("cannot read the modules: %w", err)
		}
		return reduceFile(args[1], args[2], modules)
	case "unpack":
		return unpack(args[1], args[2])
	case "age":
		days, err := strconv.Atoi(args[2])
		if err != nil {
			return fmt.Errorf("cannot read the days: %w", err)
		}
		return age(args[1], days, now, out)
	}
	return errUsage
}

func lines(in io.Reader) ([]string, error) {
	var all []string
	scanner := bufio.NewScanner(in)
	for scanner.Scan() {
		all = append(all, scanner.Text())
	}
	return all, scanner.Err()
}
