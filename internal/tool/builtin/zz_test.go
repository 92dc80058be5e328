package builtin
import ("testing";"strings";"time";"net/url";"context")
func TestZZ(t *testing.T){
 for _, s := range []string{"<p>x","<b>x<i>y","[","*","`","_a","<li>a","<td>a","<a href=x>y</a>","&amp;","<br>","\n","<pre>","</p>","<font><p>","<select><option>x", "# ", "<table>", "<span>a</span> ", "> "} {
  in := strings.Repeat(s, (1<<20)/len(s))
  b := time.Now()
  out, _ := markdown(context.Background(), in, &url.URL{Scheme:"https",Host:"x"})
  t.Logf("%q %v out %d", s, time.Since(b), len(out))
 }
}
