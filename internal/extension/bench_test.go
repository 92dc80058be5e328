package extension

import (
	"testing"

	"heddle/internal/config"
)

// BenchmarkFind looks at a home and a checkout as people have them.
func BenchmarkFind(b *testing.B) {
	for _, full := range []bool{false, true} {
		name := map[bool]string{false: "nothing", true: "something"}[full]
		b.Run(name, func(b *testing.B) {
			w := newWorld(b)
			if full {
				w.everything()
			}
			layers, err := config.Find(config.Options{Home: w.Home})
			if err != nil {
				b.Fatal(err)
			}
			w.Granted = layers
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Find(w.Options); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
