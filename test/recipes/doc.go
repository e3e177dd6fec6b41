// Package recipes runs the commands and examples of the README and of the guide as a reader pastes them.
package recipes
