// Package docs holds the pages about heddle that people read, for the agent that answers
// questions about it.
package docs

import (
	"embed"
	"strings"
)

//go:embed agents.md extensions.md headless.md memory.md settings.md tasks.md
var pages embed.FS

// Text returns all pages for users, one after the other.
func Text() string {
	var w strings.Builder
	for _, name := range []string{"settings.md", "extensions.md", "agents.md", "tasks.md", "memory.md", "headless.md"} {
		text, err := pages.ReadFile(name)
		if err != nil { // a page that is not there does not build
			continue
		}
		w.WriteString("<page name=\"docs/" + name + "\">\n")
		w.Write(text)
		w.WriteString("</page>\n")
	}
	return w.String()
}
