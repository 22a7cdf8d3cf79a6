// Package requests sends the same random requests to a real API server and to the simulated
// one of simulation/apiserver, and compares codes, bodies and watch events.
package requests
