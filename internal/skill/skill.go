// Package skill finds skills and commands: Markdown files whose text becomes part of a
// conversation when they are called. It reads them and expands their placeholders; it
// runs nothing and opens no file that they mention.
//
// The text of a skill may come from a repository that nobody has looked at, and its
// arguments from a model. Arguments are data wherever they are put, and what a file says
// of itself cannot forge the list that the model is shown.
package skill

import (
	"io/fs"

	"heddle/internal/config"
)

// Source is a place that skills and commands come from. A later source beats an earlier
// one, see [Find].
type Source struct {
	Layer config.Layer
	Name  string // for people: "user", "project", "plugin reviewer"
	// Skills and Commands are folders. A later one beats an earlier one.
	Skills, Commands []string
	// Plugin is put before names, with a colon. Empty: nothing is.
	Plugin string
	// Vars are values for ${NAME} in the texts, such as CLAUDE_PLUGIN_ROOT.
	Vars map[string]string
	// Trusted is whether files may widen what is allowed. Otherwise allowed-tools and
	// hooks are left out, with a warning.
	Trusted bool
	// Within is the folder that the files must really lie in, wherever links lead: what is
	// not trusted must not show the model what lies elsewhere. Empty: there is no limit.
	Within string
	// FS is where the folders are, if they are not on disk.
	FS fs.FS
}

// Skill is what the front matter of a skill or a command says. It does not change.
type Skill struct {
	Name         string // what it is called by, with the plugin's name
	Description  string // or the first paragraph of the text
	WhenToUse    string
	ArgumentHint string
	Arguments    []string // names for $NAME by position; "" where one cannot be used
	Allowed      []string // rules as they are written
	Disallowed   []string
	Model        string
	Effort       string // one of the known levels, or ""
	Fork         bool   // it runs in an agent of its own
	Agent        string // of this type
	Background   bool   // which is not waited for
	ModelMayCall bool
	UserMayCall  bool
	Command      bool // a command, not a skill
	// Hooks are nil, or an object as [definition.File.Value] returns it.
	Hooks  []byte
	Dir    string // the folder of the file
	Path   string // the file
	Source string // the name of its source
	Layer  config.Layer

	vars  map[string]string
	files files
}

// Shadow is a file that cannot be called because another has its name.
type Shadow struct {
	Name string
	Path string
	By   string // the path of the other
}
