package skill

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/config"
)

// Repositories lay their skills out in several ways.
func TestLayouts(t *testing.T) {
	t.Parallel()
	const front = "---\ndescription: d\n---\n"
	dir := tree(t, map[string]string{
		// with scripts and references, which are no skills, whatever they hold
		"skills/pdf-forms/SKILL.md":                    front,
		"skills/pdf-forms/scripts/fill.py":             "print()",
		"skills/pdf-forms/references/SKILL.md":         "not one",
		"skills/pdf-forms/assets/template/SKILL.md":    "not one",
		"skills/pdf-forms/LICENSE.txt":                 "MIT",
		"skills/documents/docx/SKILL.md":               front, // in groups
		"skills/documents/README.md":                   "All of them",
		"skills/documents/xlsx/SKILL.md":               front,
		"skills/lower-case/skill.md":                   front,
		"skills/.git/hooks/SKILL.md":                   "hidden",
		"skills/README.md":                             "not one",
		"commands/git/commit.md":                       "Commit",
		"commands/git/pull-request/create.md":          "Create",
		"commands/UPPER.MD":                            "Upper",
		"commands/scripts/run.sh":                      "exit 1",
		"whole/SKILL.md":                               "The folder itself",
		"whole/references/guide.md":                    "Guide",
		"empty/placeholder.txt":                        "",
		"many/one/skills/nested/SKILL.md":              front,
		"many/one/skills/nested/examples/app/SKILL.md": "not one",
	})
	source := of(config.Project, dir)
	for _, more := range []string{"whole", "empty", "many", "missing"} {
		source.Skills = append(source.Skills, filepath.Join(dir, more))
	}
	c := Find(source)
	want := []string{"UPPER", "docx", "git:commit", "git:pull-request:create", "lower-case", "nested", "pdf-forms", "whole", "xlsx"}
	if diff := cmp.Diff(want, calls(c)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if p := c.Problems(); len(p) > 0 {
		t.Errorf("problems = %v, want none", p)
	}
}
