//go:build !long

package shared

// How much is tried in `make test`.
const (
	massRecreated       = 200
	configurationCycles = 30
	refusedAtOnce       = 300 // objects with one mistake; client-go's recorder keeps 1,000 Events
	crashEvery          = 4   // of the writes that a daemon is killed at
	fleetObjects        = 100 // that are made while clusters join and leave
)
