package model

import "heddle/internal/message"

// Info is what is known of a model. The table of models is data: models.json
// beside this file, which settings extend.
type Info struct {
	Provider  string `json:"provider"`
	ID        string `json:"id"`         // sent as it is
	Window    int    `json:"window"`     // tokens of prompt and answer together
	MaxOutput int    `json:"max_output"` // tokens of an answer at most
	Price     Price  `json:"price"`
	// PriceUnknown reports that no price, or not every price, is known. What the
	// model costs is then at best an estimate.
	PriceUnknown bool `json:"price_unknown,omitempty"`
	// Above the number of prompt tokens in LongAfter, LongPrice holds for the whole request.
	LongAfter int    `json:"long_after,omitempty"`
	LongPrice *Price `json:"long_price,omitempty"`
	// Thinking is how reasoning is asked for: "" not at all, "adaptive", "always".
	Thinking string `json:"thinking,omitempty"`
	// Effort lists the levels that the model takes, empty if it takes none.
	Effort []string `json:"effort,omitempty"`
}

// Cost is what a response cost in US dollars. A cache price that is not known
// counts as the price of input.
func (i Info) Cost(u message.Usage) float64 {
	p := i.Price
	if i.LongPrice != nil && i.LongAfter > 0 && u.Prompt() > i.LongAfter {
		p = *i.LongPrice
	}
	or := func(price float64) float64 {
		if price == 0 && i.PriceUnknown {
			return p.Input
		}
		return price
	}
	sum := float64(u.Input)*p.Input +
		float64(u.CacheRead)*or(p.CacheRead) +
		float64(u.CacheWrite)*or(p.CacheWrite) +
		float64(u.CacheWrite1h)*or(p.CacheWrite1h) +
		float64(u.Output)*p.Output
	return sum / 1e6
}

// Saved is what a response would have cost more without the cache, in US dollars.
func (i Info) Saved(u message.Usage) float64 {
	plain := u
	plain.Input, plain.CacheRead = u.Input+u.CacheRead, 0
	return i.Cost(plain) - i.Cost(u)
}

// Price is in US dollars for a million tokens.
type Price struct {
	Input        float64 `json:"input"`
	Output       float64 `json:"output"`
	CacheRead    float64 `json:"cache_read"`
	CacheWrite   float64 `json:"cache_write"`
	CacheWrite1h float64 `json:"cache_write_1h"`
}
