package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// What one server may ask of this program and list to it before it costs more than itself.
const (
	maxAsked   = 64     // requests of a server that have no answer yet
	maxPages   = 100    // of a list
	maxEntries = 10_000 // of a list, usable or not
)

// answering is a connection whose server may only ask so much before it has read the
// answers: what it does not read is kept in memory.
type answering struct {
	sdk.Connection
	asked atomic.Int64
}

// Read returns the next message.
func (a *answering) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := a.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() && a.asked.Add(1) > maxAsked {
		return nil, fmt.Errorf("it asked more than %d things and did not read the answers", maxAsked)
	}
	return m, err
}

// Write sends a message.
func (a *answering) Write(ctx context.Context, m jsonrpc.Message) error {
	if _, ok := m.(*jsonrpc.Response); ok {
		defer a.asked.Add(-1)
	}
	return a.Connection.Write(ctx, m)
}

var errEndless = errors.New("the list has no end")

// pages collects a list that comes in pages. With [errEndless] there is what came before.
func pages[T any](page func(cursor string) (entries []T, next string, err error)) ([]T, error) {
	var all []T
	cursor := ""
	for range maxPages {
		entries, next, err := page(cursor)
		if err != nil {
			return all, err
		}
		all = append(all, entries...)
		switch {
		case next == "":
			return all, nil
		case next == cursor, len(all) > maxEntries:
			return all, errEndless
		}
		cursor = next
	}
	return all, errEndless
}
