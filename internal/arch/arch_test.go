// Package arch holds the import policy of the project and the test that
// enforces it. There is no product code here.
package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// policy lists what each package may import of ours. Read it top down: a
// package only mentions packages above it, so a cycle cannot be written. A new
// edge is a design decision and gets a commit of its own; the picture in
// docs/architecture.md changes with it.
const policy = `
message:
spelling:
process:
task:
search:
markdown:
briefing:
demo:
worktree:

config:     spelling
model:      message spelling
tool:       message
transcript: message
agent:      message model tool
permission: tool

definition: config
skill:      config definition spelling
roster:     tool config definition spelling
plugin:     config spelling
hook:       tool process config message spelling
mcp:        message tool process config

model/sse:       model
model/anthropic: model message model/sse
model/openai:    model message model/sse
model/scripted:  model message
model/modeltest: model message
model/fakeapi:   model message model/scripted

task/tasktest: task
task/shell:    task process
task/call:     task tool message
mail:          task agent message
minutes:       agent message transcript
task/subagent: task agent roster message model tool mail minutes transcript permission worktree
control:       task

tool/builtin: tool message search markdown spelling task task/shell task/subagent
session:      message model agent tool task mail minutes transcript permission briefing

extension:        config plugin skill roster hook mcp
extension/attach: session message model agent tool task task/call permission config skill hook mcp

headless: session message model agent tool task mail permission
`

const module = "heddle/internal/"

func TestImportsFollowPolicy(t *testing.T) {
	allowed := map[string][]string{}
	for line := range strings.Lines(policy) {
		pkg, deps, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		for _, d := range strings.Fields(deps) {
			if _, declared := allowed[d]; !declared {
				t.Errorf("policy: %s mentions %s before it is declared", pkg, d)
			}
		}
		allowed[pkg] = strings.Fields(deps)
	}
	seen := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		pkg := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, "../")))
		if pkg == "arch" || strings.HasPrefix(pkg, "demo/") {
			return nil
		}
		seen[pkg] = true
		deps, declared := allowed[pkg]
		if !declared {
			t.Errorf("%s is not in the policy", pkg)
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range f.Imports {
			dep, ours := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), module)
			// Tests may use the suites and fakes of the family.
			test := strings.HasSuffix(path, "_test.go")
			if !ours || dep == pkg || slices.Contains(deps, dep) ||
				test && (strings.HasSuffix(dep, "test") || dep == "model/scripted" || dep == "model/fakeapi") {
				continue
			}
			t.Errorf("%s: %s may not import %s", path, pkg, dep)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range allowed {
		if !seen[pkg] {
			t.Errorf("policy: there is no package %s", pkg)
		}
	}
}
