package openai

// Profile says how a server wants requests, where servers differ.
type Profile struct {
	// MaxTokens is the name of the member for the limit of the answer. Empty:
	// none is sent.
	MaxTokens string
	// SystemRole is the role of the first message.
	SystemRole string
	// EmptyContent sends "" as the content of an assistant message that only has
	// calls, and not null. Each of the two is refused by some servers.
	EmptyContent bool
	// Parallel asks for several calls in one answer. Without it, some servers give one.
	Parallel bool
	// IncludeUsage asks for the count of tokens.
	IncludeUsage bool
	// NoPadding asks to leave out padding that hides the length of pieces.
	NoPadding bool
	// NoStore asks not to keep the answer.
	NoStore bool
	// Reasoning is the name of the member in which thinking goes back. Empty: it does not.
	Reasoning string
	// ThinkTags takes what stands in <think> at the beginning of an answer for thinking.
	ThinkTags bool
	// CacheKey is sent as prompt_cache_key, so that requests with the same prefix
	// meet the same cache.
	CacheKey string
}

// Vendor is the profile of OpenAI's own API.
func Vendor() Profile {
	return Profile{
		MaxTokens: "max_completion_tokens", SystemRole: "developer",
		Parallel: true, IncludeUsage: true, NoPadding: true, NoStore: true,
	}
}

// Compatible is the profile for any other server: what most of them understand.
func Compatible() Profile {
	return Profile{MaxTokens: "max_tokens", SystemRole: "system", Parallel: true, IncludeUsage: true}
}
