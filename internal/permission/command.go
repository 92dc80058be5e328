package permission

// command judges a shell command.
func (j *judge) command(text string) {
	j.add(finding{behavior: Ask, reason: "it runs a command", suggest: []Update{allowUpdate(ToLocal, RuleText{"Bash", text})}})
}
