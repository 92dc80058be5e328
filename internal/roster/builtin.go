package roster

import "embed"

//go:embed builtin
var builtin embed.FS

// Docs stands in the prompt of heddle-guide where the caller puts in what the program's
// documentation says, or where it lies.
const Docs = "{{docs}}"

// Builtin is the source of the agents that come with the program.
func Builtin() Source {
	return Source{Name: "heddle", Folders: []string{"builtin"}, Trusted: true, FS: builtin, builtin: true}
}
