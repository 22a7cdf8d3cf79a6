// Package tools is a module of its own for the programs that checks need, so
// that the daemon depends on none of them.
package tools
