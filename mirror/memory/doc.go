// Package memory is how the parts of the controller remember what the API server does not hold.
package memory
