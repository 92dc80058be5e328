package roster

import "heddle/internal/config"

func (l *loader) openCode(f found) (*Agent, []*config.Problem, error) {
	l.call(f.base())
	return l.finish()
}
