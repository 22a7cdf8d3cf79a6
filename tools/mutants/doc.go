// Package mutants breaks the daemon on purpose, to see whether a test notices: faults.sh puts the
// patches of faults/ into a copy, one after the other, and gremlins.sh lets gremlins change single
// operators of a pure package. It is a module of its own, since gremlins brings a command line.
package mutants
