// Package agent is the loop that runs one agent: it asks a model, runs the tools
// that the model calls, and goes on until the model has nothing more to do.
//
// The main conversation is an agent like any other; it just has no parent.
package agent
