// Package memory is what this process remembers that the API server does not hold: one record for each Work of a
// source, with what is forgotten when. It calls no API server.
package memory
