package agent

import _ "embed"

//go:embed main.md
var mainPrompt string

// MainPrompt is the system prompt of the main conversation. It holds nothing that
// differs from one project or day to the next, so that every conversation
// shares its beginning; what does differ stands in the first message.
func MainPrompt() string { return mainPrompt }
