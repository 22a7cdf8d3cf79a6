// Package tools is a separate module for the programs that checks need, so
// that the daemon depends on none of them.
package tools
