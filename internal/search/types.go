package search

import (
	"maps"
	"slices"
)

// types are the names for groups of files that a query may use.
var types = map[string]string{
	"c":          "*.c *.h",
	"clojure":    "*.clj *.cljc *.cljs *.edn",
	"cmake":      "*.cmake CMakeLists.txt",
	"config":     "*.cfg *.conf *.config *.ini",
	"cpp":        "*.C *.cc *.cpp *.cxx *.c++ *.h *.H *.hh *.hpp *.hxx *.inl",
	"cs":         "*.cs",
	"css":        "*.css *.scss *.sass *.less",
	"csv":        "*.csv",
	"dart":       "*.dart",
	"docker":     "Dockerfile Dockerfile.* *.dockerfile",
	"elixir":     "*.ex *.exs *.eex *.heex",
	"erlang":     "*.erl *.hrl",
	"go":         "*.go",
	"graphql":    "*.graphql *.graphqls",
	"haskell":    "*.hs *.lhs *.cabal",
	"html":       "*.html *.htm",
	"java":       "*.java *.jsp",
	"js":         "*.js *.jsx *.mjs *.cjs *.vue",
	"json":       "*.json *.jsonl *.jsonc *.ipynb",
	"julia":      "*.jl",
	"kotlin":     "*.kt *.kts",
	"lua":        "*.lua",
	"make":       "[Mm]akefile GNUmakefile *.mk *.mak",
	"markdown":   "*.md *.mdx *.markdown",
	"md":         "*.md *.mdx *.markdown",
	"nix":        "*.nix",
	"objc":       "*.h *.m *.mm",
	"ocaml":      "*.ml *.mli *.mll *.mly",
	"perl":       "*.pl *.pm *.t",
	"php":        "*.php *.phtml",
	"proto":      "*.proto",
	"py":         "*.py *.pyi",
	"python":     "*.py *.pyi",
	"r":          "*.R *.r *.Rmd",
	"rst":        "*.rst",
	"ruby":       "*.rb *.rake *.gemspec Gemfile Rakefile",
	"rust":       "*.rs",
	"scala":      "*.scala *.sbt",
	"sh":         "*.sh *.bash *.zsh *.ksh .bashrc .profile .zshrc",
	"sql":        "*.sql *.psql",
	"swift":      "*.swift",
	"svelte":     "*.svelte",
	"terraform":  "*.tf *.tfvars",
	"tex":        "*.tex *.sty *.cls *.bib",
	"toml":       "*.toml Cargo.lock",
	"ts":         "*.ts *.tsx *.mts *.cts",
	"txt":        "*.txt",
	"typescript": "*.ts *.tsx *.mts *.cts",
	"vue":        "*.vue",
	"xml":        "*.xml *.xsd *.xsl *.xslt *.svg *.plist",
	"yaml":       "*.yaml *.yml",
	"zig":        "*.zig",
}

// Types returns the names of the known file types, in order.
func Types() []string { return slices.Sorted(maps.Keys(types)) }
