package main

import (
	"context"
	"errors"
	"fmt"

	"heddle/internal/message"
	"heddle/internal/model"
)

// askTokens bounds an answer that is a verdict with a reason.
const askTokens = 4096

// ask puts one question to a model, beside the conversation, and returns its answer.
func (m *models) ask(ctx context.Context, name, prompt string) (string, error) {
	c, err := m.Choose(name)
	if err != nil {
		return "", err
	}
	r := &model.Request{
		Model: c.Info, Prefix: c.Model.EncodePrefix(model.Prompt{}), Messages: [][]byte{c.Model.EncodeMessage(message.FromUser(prompt))},
		MaxTokens: askTokens, Agent: model.Agent{Type: "hook"},
	}
	if c.Info.MaxOutput > 0 {
		r.MaxTokens = min(r.MaxTokens, c.Info.MaxOutput)
	}
	for ev, err := range c.Model.Stream(ctx, r) {
		if err != nil {
			return "", err
		}
		if resp, ok := ev.(model.Response); ok {
			if resp.Stop == message.Refusal {
				return "", fmt.Errorf("the model declined to answer")
			}
			return resp.Message.Text(), nil
		}
	}
	return "", errors.New("the model gave no answer")
}
