package permission

// Advice is what somebody has said about a call before it came to the gate, for instance
// a hook: Allow answers what would be asked, except by an ask rule or by what always
// needs a person; Ask makes it a question. It never overrules a refusal.
type Advice struct {
	Behavior Behavior // Allow, Ask, or nothing
	Reason   string   // a clause for people and models
}
