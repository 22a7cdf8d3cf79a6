//go:build !long

package shared

// How much is tried in `make test`.
const (
	massRecreated       = 100
	configurationCycles = 20
	refusedAtOnce       = 100 // objects with one mistake
	crashEvery          = 4   // of the writes that a daemon is killed at
	fleetObjects        = 50  // that are made while clusters join and leave
)
