package accounts

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// DefaultAvatar is the avatar of a user who chose none.
const DefaultAvatar = "simple"

// AvatarMediaType is the media type of the pictures.
const AvatarMediaType = "image/svg+xml"

//go:embed catalogue/*.svg
var catalogueFiles embed.FS

// Catalogue is a fixed set of pictures. Immutable.
type Catalogue struct {
	ids      []string
	pictures map[string][]byte
}

// builtinAvatars returns the catalogue that is embedded in the program.
func builtinAvatars() *Catalogue {
	c := &Catalogue{pictures: map[string][]byte{}}
	names, err := fs.Glob(catalogueFiles, "catalogue/*.svg")
	if err != nil {
		panic("BUG: accounts: catalogue: " + err.Error())
	}
	for _, name := range names {
		b, err := catalogueFiles.ReadFile(name)
		if err != nil {
			panic(fmt.Sprintf("BUG: accounts: catalogue %s: %v", name, err))
		}
		id := strings.TrimSuffix(path.Base(name), ".svg")
		c.ids = append(c.ids, id)
		c.pictures[id] = b
	}
	slices.Sort(c.ids)
	return c
}

// IDs returns the ids of the avatars, sorted; the caller must not change them.
func (c *Catalogue) IDs() []string { return c.ids }

// SVG returns the picture of an id; the caller must not change it.
func (c *Catalogue) SVG(id string) ([]byte, bool) {
	b, ok := c.pictures[id]
	return b, ok
}

func avatarURL(id string) string { return "/api/users/avatars/" + id + ".svg" }
