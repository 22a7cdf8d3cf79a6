// Package requests sends the same random requests to a real API server, with Karmada's
// definitions and webhook, and to the simulated one of simulation/apiserver, and compares codes,
// bodies and watch events.
//
// A failure says at which step the answers differ, and prints the sequence as a row for the table
// in regressions_test.go. Change the simulation until it passes; a difference that does not matter
// is a row of accepted, with the reason.
package requests
