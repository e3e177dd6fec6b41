package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

// File is one parsed Go file of the tree.
type File struct {
	Path string // path from the root, with slashes: engine/core.go
	Dir  string // folder of the file: engine
	Test bool   // the file's name ends with _test.go
	Fset *token.FileSet
	AST  *ast.File
	Text []byte
}

// at returns the position of p as file:line, as the compiler writes it.
func (f *File) at(p token.Pos) string {
	return fmt.Sprintf("%s:%d", f.Path, f.Fset.Position(p).Line)
}

// imports returns the local name and the path of each import.
func (f *File) imports() map[string]string {
	out := map[string]string{}
	for _, s := range f.AST.Imports {
		p := strings.Trim(s.Path.Value, `"`)
		name := path.Base(p)
		if s.Name != nil {
			name = s.Name.Name
		}
		out[name] = p
	}
	return out
}

// Parse parses a source text into a File.
func Parse(name string, text []byte) (*File, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	return &File{
		Path: name, Dir: path.Dir(name), Test: strings.HasSuffix(name, "_test.go"), Fset: fset, AST: tree, Text: text,
	}, nil
}

// Load parses every Go file of the tree below root.
func Load(root string) ([]*File, error) {
	var files []*File
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin" ||
			base == "data") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(base) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f, err := Parse(filepath.ToSlash(rel), text)
		if err != nil {
			return err
		}
		if f.AST.Name.Name != "deps" {
			files = append(files, f)
		}
		return nil
	})
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	return files, err
}

// under reports whether dir is one of the folders or inside one of them.
func under(dir string, folders ...string) bool {
	for _, f := range folders {
		if dir == f || strings.HasPrefix(dir, f+"/") {
			return true
		}
	}
	return false
}
