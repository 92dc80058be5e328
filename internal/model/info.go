package model

// Info is what is known of a model. The table of models is data: models.json
// beside this file, which settings extend.
type Info struct {
	Provider  string `json:"provider"`
	ID        string `json:"id"`         // sent as it is
	Window    int    `json:"window"`     // tokens of prompt and answer together
	MaxOutput int    `json:"max_output"` // tokens of an answer at most
	Price     Price  `json:"price"`
	// Above the number of prompt tokens in LongAfter, LongPrice holds for the whole request.
	LongAfter int    `json:"long_after,omitempty"`
	LongPrice *Price `json:"long_price,omitempty"`
	// Thinking is how reasoning is asked for: "" not at all, "adaptive", "always".
	Thinking string `json:"thinking,omitempty"`
	// Effort lists the levels that the model takes, empty if it takes none.
	Effort []string `json:"effort,omitempty"`
}

// Price is in US dollars for a million tokens.
type Price struct {
	Input        float64 `json:"input"`
	Output       float64 `json:"output"`
	CacheRead    float64 `json:"cache_read"`
	CacheWrite   float64 `json:"cache_write"`
	CacheWrite1h float64 `json:"cache_write_1h"`
}
