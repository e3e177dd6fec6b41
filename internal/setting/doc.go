// Package setting is how a package declares the part of the configuration that it uses: a struct with one member for
// each key. The tags of a member are all that the program knows of its key:
//
//   - toml: the key's name in its section.
//   - default: the built-in value in the form of --set; none: empty, 0 or false. The meaning of a number's zero value
//     is documented at the member.
//   - help: what `tickhive config print` writes behind the value.
//   - range: the smallest and the largest integer.
//   - oneof: the permitted words.
//   - secret: the value is not printed.
//
// A member is a text, a switch, an integer, a list of these, or one of the types of this package: Duration and
// Decimal. A rule that no tag states is in the struct's method Check, whose errors name the key with its section.
//
// Owner: none. The package has no state.
//
// It knows no section, and reads no file, environment or flag: internal/config and cmd/tickhive do.
package setting
