//go:build amd64 || arm64

package slots

// fetch is in assembly, because Go has no prefetch: a read would wait for the memory before it could retire.
//
//go:noescape
func fetch(addr *uintptr, n int)
