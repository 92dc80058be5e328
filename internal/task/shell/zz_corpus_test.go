package shell
import ("testing";"os";"bufio";"path/filepath";"bytes";"fmt";"strings")
func TestZZCorpus(t *testing.T){
	seen:=map[string]int{}; n,hits:=0,0
	for _,root:=range []string{"/usr/share/doc","/var/log","/work/main/docs","/work/main/internal","/usr/local/go/src/cmd","/usr/local/go/src/net","/usr/share/perl"}{
		filepath.Walk(root,func(p string,i os.FileInfo,err error)error{
			if err!=nil||i.IsDir()||i.Size()>200000||n>200000||strings.Contains(p,"prompt"){return nil}
			b,_:=os.ReadFile(p); if bytes.IndexByte(b,0)>=0||bytes.IndexByte(b,13)>=0{return nil}
			sc:=bufio.NewScanner(bytes.NewReader(b)); off:=0
			for sc.Scan(){
				off+=len(sc.Bytes())+1; if off>len(b){break}
				n++
				if q,ok:=asks(append(append([]byte{},b[max(0,off-300):off-1]...),os.Getenv("ZZ")...));ok{hits++;seen[string(q.Kind)+" | "+q.Line]++}
			}
			return nil})
	}
	fmt.Println(n,hits)
	for l,c:=range seen{fmt.Println(c,l)}
}
