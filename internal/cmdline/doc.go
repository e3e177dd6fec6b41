// Package cmdline holds the code that the project's programs share: version and build
// information, the heap floor, the CPU profile of a process, and the run of a command line.
//
// Owner: main. Everything here is called once, at the start or the end of a process.
//
// Invariants:
//
//  1. A usage error exits 2, damaged data 3, any other failure 1. Both print one line that names the
//     program.
//  2. A process that records a CPU profile leaves a complete file.
//
// It does not know the commands of a program.
package cmdline
