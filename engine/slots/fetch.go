package slots

// CacheLine is an address whose cache line is to be fetched. It is no pointer, so it retains nothing.
type CacheLine = uintptr

// Fetch makes the processor fetch cache lines from memory into its cache while the program goes on. It does nothing on
// processors other than amd64 and arm64.
func Fetch(lines []CacheLine) {
	if len(lines) > 0 {
		fetch(&lines[0], len(lines))
	}
}
