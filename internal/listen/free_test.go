package listen

import (
	"net"
	"testing"
)

// The addresses are different, none is in use, none is returned twice before its release, and the kernel gives none of
// their ports to a connection or to a listener at port 0.
func TestFreeAddressesStayFree(t *testing.T) {
	seen := map[string]bool{}
	for range 50 {
		all, release, err := Free(2)
		if err != nil || len(all) != 2 {
			t.Fatal(all, err)
		}
		defer release()
		for _, at := range all {
			if seen[at] {
				t.Errorf("%s twice", at)
			}
			seen[at] = true
			ln, err := net.Listen("tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			if port := ln.Addr().(*net.TCPAddr).Port; port < firstFree || port >= firstFree+freePorts {
				t.Errorf("port %d", port)
			}
			if err := ln.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if all, _, err := Free(freePorts); err == nil {
		t.Errorf("%d addresses of %d, of which 100 are held", len(all), freePorts)
	}
}
