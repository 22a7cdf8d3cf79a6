package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"time"
)

// age says how old the database at a URL is, and fails if it is older than some days.
// One that is not a folder is asked over the network, and is the newest.
func age(address string, days int, now time.Time, out io.Writer) error {
	location, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("cannot read the address of the database: %w", err)
	}
	if location.Scheme != "file" {
		return nil
	}
	var db database
	if err := decode(os.DirFS(location.Path), databaseFile, &db); err != nil {
		return fmt.Errorf("cannot read the database's date: %w", err)
	}
	old := int(now.Sub(db.Modified).Hours() / 24)
	fmt.Fprintf(out, "the database of known vulnerabilities is of %s, %d days old\n", db.Modified.Format(time.DateOnly), old)
	if old <= days {
		return nil
	}
	return fmt.Errorf(`the database of known vulnerabilities is of %s, %d days old, and %d is the limit. Renew it:

  make vulndb
  git add tools/vulndb/db.zip
  git commit -m "tools: the vulnerabilities known today"

or ask the newest this once:

  make check VULNDB=https://vuln.go.dev`, db.Modified.Format(time.DateOnly), old, days)
}
