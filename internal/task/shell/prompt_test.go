package shell

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// asking are ends of output of programs that wait, and what they wait for.
var asking = []struct {
	name string
	tail string
	kind wanted
	line string // what Line must be; not looked at if empty
}{
	{"apt", "After this operation, 12.3 MB of additional disk space will be used.\nDo you want to continue? [Y/n] ", wantConfirmation, "Do you want to continue? [Y/n]"},
	{"dpkg conffile", "    D     : show the differences between the versions\n    Z     : start a shell to examine the situation\n The default action is to keep your current version.\n*** nginx.conf (Y/I/N/O/D/Z) [default=N] ? ", wantConfirmation, ""},
	{"debconf readline", "Please select the geographic area in which you live.\n\n  1. Africa      3. Asia\n  2. America     4. Europe\n\nGeographic area: ", wantInput, "Geographic area:"},
	{"debconf dialog", "\x1b[2J\x1b[H Configuring tzdata \n lqqqqk\n x Africa x\n <Ok>   <Cancel> \n", wantChoice, ""},
	{"pip uninstall", "Would remove:\n    /usr/lib/python3/site-packages/six.py\nProceed (Y/n)? ", wantConfirmation, "Proceed (Y/n)?"},
	{"npx", "Need to install the following packages:\n  cowsay@1.6.0\nOk to proceed? (y) ", wantConfirmation, "Ok to proceed? (y)"},
	{"npm init", "Press ^C at any time to quit.\npackage name: (shop) ", wantInput, "package name: (shop)"},
	{"npm init end", "{\n  \"name\": \"shop\"\n}\n\n\nIs this OK? (yes) ", wantConfirmation, ""},
	{"npm otp", "npm notice Publishing to https://registry.npmjs.org/\nThis operation requires a one-time password.\nEnter OTP: ", wantCode, ""},
	{"npm login", "Login at:\nhttps://www.npmjs.com/login?next=/login/cli/5c1d\nPress ENTER to open in the browser...", wantSignIn, ""},
	{"yarn init", "yarn init v1.22.22\nquestion name (shop): ", wantInput, ""},
	{"create-vite", "\x1b[90m│\x1b[39m\n\x1b[36m◆\x1b[39m  Select a framework:\n\x1b[36m│\x1b[39m  ● Vanilla\n│  ○ Vue\n│  ○ React\n└\n", wantChoice, "◆ Select a framework:"},
	{"create-vite name", "◆  Project name:\n│  \x1b[7mv\x1b[27mite-project\n└\n", wantInput, ""},
	{"create-next-app", "\x1b[36m?\x1b[39m \x1b[1mWould you like to use the recommended Next.js defaults?\x1b[22m › - Use arrow-keys. Return to submit.\n❯   Yes, use recommended defaults\n    No, reuse previous settings\n", wantChoice, ""},
	{"create-next-app toggle", "\x1b[2K\x1b[1G? Would you like to use TypeScript? › No / Yes", wantConfirmation, "? Would you like to use TypeScript? › No / Yes"},
	{"inquirer list", "? Which stylesheet format would you like to use? (Use arrow keys)\n❯ CSS             [ https://developer.mozilla.org/docs/Web/CSS ]\n  Sass (SCSS)     [ https://sass-lang.com ]\n", wantChoice, ""},
	{"inquirer without help", "? Pick a preset\n❯ Default\n  Manual\n", wantChoice, ""},
	{"inquirer input", "? What is your project named? (my-app) ", wantInput, ""},
	{"survey", "? What account do you want to log into?  [Use arrows to move, type to filter]\n> GitHub.com\n  Other\n", wantChoice, ""},
	{"promptui", "Use the arrow keys to navigate: ↓ ↑ → ← \n? Select Day: \n  ▸ Monday\n    Tuesday\n", wantChoice, "? Select Day:"},
	{"git user", "Cloning into 'x'...\nUsername for 'https://github.com': ", wantUser, ""},
	{"git password", "Password for 'https://me@github.com': ", wantPassword, ""},
	{"git add -p", "+\tx++\n(1/3) Stage this hunk [y,n,q,a,d,j,J,g,/,e,?]? ", wantConfirmation, ""},
	{"git clean -i", "Would remove the following item:\n  a.o\n*** Commands ***\n    1: clean    2: filter by pattern\n    5: quit     6: help\nWhat now> ", wantChoice, "What now>"},
	{"git am -i", "Commit Body is:\n--------------------------\nfix\n--------------------------\nApply? [y]es/[n]o/[e]dit/[v]iew patch/[a]ccept all: ", wantConfirmation, ""},
	{"git editor", "hint: Waiting for your editor to close the file... ", wantEditor, ""},
	{"git mergetool", "Hit return to start merge resolution tool (vimdiff): ", wantKey, ""},
	{"git mergetool result", "Was the merge successful [y/n]? ", wantConfirmation, ""},
	{"git send-email", "Send this email? ([y]es|[n]o|[e]dit|[q]uit|[a]ll): ", wantConfirmation, ""},
	{"ssh host key", "ED25519 key fingerprint is SHA256:abc.\nThis key is not known by any other names.\nAre you sure you want to continue connecting (yes/no/[fingerprint])? ", wantHostKey, ""},
	{"ssh host key again", "Are you sure you want to continue connecting (yes/no/[fingerprint])? \nPlease type 'yes', 'no' or the fingerprint: ", wantHostKey, "Please type 'yes', 'no' or the fingerprint:"},
	{"ssh password", "root@10.0.0.7's password: ", wantPassword, ""},
	{"ssh key", "Enter passphrase for key '/root/.ssh/id_ed25519': ", wantPassphrase, ""},
	{"ssh-keygen", "Generating public/private ed25519 key pair.\nEnter passphrase (empty for no passphrase): ", wantPassphrase, ""},
	{"ssh-keygen file", "Enter file in which to save the key (/root/.ssh/id_ed25519): ", wantInput, ""},
	{"ssh-keygen overwrite", "/root/.ssh/id_ed25519 already exists.\nOverwrite (y/n)? ", wantConfirmation, ""},
	{"sudo", "[sudo] password for dev: ", wantPassword, ""},
	{"su", "Password: ", wantPassword, "Password:"},
	{"passwd", "(current) UNIX password: ", wantPassword, ""},
	{"duo", " 1. Duo Push to XXX-1234\n 2. Phone call\n\nPasscode or option (1-2): ", wantCode, ""},
	{"google authenticator", "Verification code: ", wantCode, ""},
	{"aws mfa", "Enter MFA code for arn:aws:iam::123456789012:mfa/dev: ", wantCode, ""},
	{"gpg key id", "Real name: ", wantInput, ""},
	{"gpg okay", "You selected this USER-ID:\n    \"A <a@b.c>\"\n\nChange (N)ame, (C)omment, (E)mail or (O)kay/(Q)uit? ", wantChoice, ""},
	{"gpg trust", "Use this key anyway? (y/N) ", wantConfirmation, ""},
	{"gpg kind", "   (1) RSA and RSA\n   (9) ECC (sign and encrypt) *default*\nYour selection? ", wantChoice, ""},
	{"openssl key", "Enter pass phrase for server.key:", wantPassphrase, ""},
	{"openssl req", "-----\nCountry Name (2 letter code) [AU]:", wantInput, ""},
	{"openssl export", "Enter Export Password:", wantPassword, ""},
	{"docker login", "Login with your Docker ID to push and pull images.\nUsername: ", wantUser, ""},
	{"docker device", "Your one-time device confirmation code is: ABCD-EFGH\nPress ENTER to open your browser or submit your device code here: https://login.docker.com/activate\n\nWaiting for authentication in the browser…\n", wantSignIn, ""},
	{"docker prune", "WARNING! This will remove all stopped containers.\nAre you sure you want to continue? [y/N] ", wantConfirmation, ""},
	{"terraform", "\x1b[1mDo you want to perform these actions?\x1b[0m\n  Only 'yes' will be accepted to approve.\n\n  \x1b[1mEnter a value:\x1b[0m ", wantInput, "Enter a value:"},
	{"kubectl", "Please enter Username: ", wantUser, ""},
	{"heroku login", "heroku: Press any key to open up the browser to login or q to exit: ", wantSignIn, ""},
	{"heroku destroy", " ▸    To proceed, type shop or re-run this command with\n ▸    --confirm shop\n\n> ", wantCommand, ""},
	{"gh", "! First copy your one-time code: 1A2B-3C4D\nPress Enter to open https://github.com/login/device in your browser... ", wantSignIn, ""},
	{"gh token", "Tip: you can generate a token here https://github.com/settings/tokens\n? Paste your authentication token: ", wantPassword, ""},
	{"gcloud", "Do you want to continue (Y/n)?  ", wantConfirmation, ""},
	{"gcloud choice", " [1] Re-initialize this configuration\n [2] Create a new configuration\nPlease enter your numeric choice:  ", wantChoice, ""},
	{"gcloud code", "Once finished, enter the verification code provided in your browser: ", wantCode, ""},
	{"az", "To sign in, use a web browser to open the page https://microsoft.com/devicelogin and enter the code GHJ4KLMN2 to authenticate.\n", wantSignIn, ""},
	{"aws sso", "If the browser does not open, open the following URL:\n\nhttps://device.sso.us-east-1.amazonaws.com/\n\nThen enter the code:\n\nQWER-TYUI\n", wantSignIn, "Then enter the code:"},
	{"aws configure", "AWS Access Key ID [None]: ", wantPassword, ""},
	{"aws region", "Default region name [None]: ", wantInput, ""},
	{"psql password", "Password for user postgres: ", wantPassword, ""},
	{"psql", "psql (16.3)\nType \"help\" for help.\n\npostgres=# ", wantCommand, ""},
	{"mysql password", "Enter password: ", wantPassword, ""},
	{"mysql", "Type 'help;' or '\\h' for help.\n\nmysql> ", wantCommand, ""},
	{"mariadb", "MariaDB [(none)]> ", wantCommand, ""},
	{"sqlite", "Enter \".help\" for usage hints.\nsqlite> ", wantCommand, ""},
	{"redis", "127.0.0.1:6379> ", wantCommand, ""},
	{"python", "Type \"help\", \"copyright\", \"credits\" or \"license\" for more information.\n>>> ", wantCommand, ">>>"},
	{"node", "Welcome to Node.js v22.2.0.\nType \".help\" for more information.\n> ", wantCommand, ""},
	{"irb", "irb(main):001> ", wantCommand, ""},
	{"ipython", "\x1b[32mIn [\x1b[1m1\x1b[22m]: \x1b[0m", wantCommand, ""},
	{"pdb", "> /src/app.py(12)main()\n-> total = add(1, 2)\n(Pdb) ", wantCommand, "(Pdb)"},
	{"gdb", "Reading symbols from ./a.out...\n(gdb) ", wantCommand, ""},
	{"gdb pager", "--Type <RET> for more, q to quit, c to continue without paging--", wantPage, ""},
	{"delve", "Type 'help' for list of commands.\n(dlv) ", wantCommand, ""},
	{"shell", "root@box:/src# ", wantCommand, ""},
	{"bash", "bash-5.2$ ", wantCommand, ""},
	{"less", "commit 3f2a\nAuthor: A\n:", wantPage, ":"},
	{"less colours", "    return\n\x1b[7m(END)\x1b[27m\x1b[K", wantPage, "(END)"},
	{"less dumb", "WARNING: terminal is not fully functional\n-  (press RETURN)", wantPage, ""},
	{"more", "line 23\n\x1b[7m--More--(12%)\x1b[27m", wantPage, ""},
	{"systemctl", "   CGroup: /system.slice/cron.service\nlines 1-23", wantPage, ""},
	{"man", "       ls - list directory contents\n Manual page ls(1) line 1 (press h for help or q to quit)", wantPage, ""},
	{"cp -i", "cp: overwrite 'b'? ", wantConfirmation, ""},
	{"mv read-only", "mv: replace 'b', overriding mode 0444 (r--r--r--)? ", wantConfirmation, ""},
	{"rm", "rm: remove write-protected regular empty file 'x'? ", wantConfirmation, ""},
	{"BSD cp", "overwrite b? (y/n [n]) ", wantConfirmation, ""},
	{"gzip", "gzip: a.gz already exists; do you wish to overwrite (y or n)? ", wantConfirmation, ""},
	{"unzip", "Archive:  a.zip\nreplace a.txt? [y]es, [n]o, [A]ll, [N]one, [r]ename: ", wantConfirmation, ""},
	{"7z", "? (Y)es / (N)o / (A)lways / (S)kip all / A(u)to rename all / (Q)uit? ", wantConfirmation, ""},
	{"fsck", "Free blocks count wrong (1, counted=2).\nFix<y>? ", wantConfirmation, ""},
	{"mkfs", "/dev/sdb contains a ext4 file system\nProceed anyway? (y,N) ", wantConfirmation, ""},
	{"fdisk", "Command (m for help): ", wantCommand, ""},
	{"rails", "    conflict  README.md\nOverwrite /app/README.md? (enter \"h\" for help) [Ynaqdhm] ", wantConfirmation, ""},
	{"maven release", "[INFO] Checking dependencies and plugins for snapshots ...\nWhat is the release version for \"app\"? (com.example:app) 1.0: : ", wantInput, ""},
	{"maven archetype", "Define value for property 'groupId': ", wantInput, ""},
	{"gradle init", "  2: Library\n  3: Gradle plugin\nEnter selection (default: Application) [1..4] ", wantChoice, ""},
	{"cargo login", "please paste the token found on https://crates.io/me below\n", wantPassword, ""},
	{"rustup", "1) Proceed with standard installation (default - just press enter)\n2) Customize installation\n3) Cancel installation\n>", wantChoice, ""},
	{"conda", "Proceed ([y]/n)? ", wantConfirmation, ""},
	{"conda licence", "Do you accept the license terms? [yes|no]\n[no] >>> ", wantConfirmation, "Do you accept the license terms? [yes|no]"},
	{"conda pause", "Please, press ENTER to continue\n>>> ", wantKey, "Please, press ENTER to continue"},
	{"brew", "==> The following new directories will be created:\n/opt/homebrew/bin\n\nPress RETURN/ENTER to continue or any other key to abort:\n", wantKey, ""},
	{"certbot", "(Y)es/(N)o: ", wantConfirmation, ""},
	{"certbot terms", "(A)gree/(C)ancel: ", wantChoice, ""},
	{"certbot mail", "Enter email address (used for urgent renewal and security notices)\n (Enter 'c' to cancel): ", wantInput, ""},
	{"certbot number", "Select the appropriate number [1-2] then [enter] (press 'c' to cancel): ", wantChoice, ""},
	{"ansible vault", "Vault password: ", wantPassword, ""},
	{"ansible become", "BECOME password: ", wantPassword, ""},
	{"ansible step", "Perform task: TASK: install (N)o/(y)es/(c)ontinue: ", wantConfirmation, ""},
	{"vim", "\"a.txt\" 3L, 12B\nPress ENTER or type command to continue", wantKey, ""},
	{"vim swap", "E325: ATTENTION\nSwap file \".a.swp\" already exists!\n[O]pen Read-Only, (E)dit anyway, (R)ecover, (Q)uit, (A)bort: ", wantEditor, ""},
	{"nano", "\x1b[1;1H  GNU nano 7.2\n^G Help      ^O Write Out ^W Where Is\n^X Exit      ^R Read File ^\\ Replace\n", wantEditor, ""},
	{"pause", "Press any key to continue . . . ", wantKey, ""},
	{"pause below", "Done.\nPress [Enter] to continue...\n", wantKey, ""},
	{"read -p", "Deploy to production? ", wantInput, ""},
	{"read -p yes", "Really delete all rows in shop.orders (yes/no): ", wantConfirmation, ""},
	{"echo and read", "Enter ticket ID:\n", wantInput, "Enter ticket ID:"},
	{"echo question", "3 files changed.\nAre you sure?\n", wantConfirmation, ""},
	{"shall", "Shall I install it for you?\n", wantConfirmation, ""},
	{"ready", "Ready to deploy?", wantConfirmation, ""},
	{"would", "Would you like to run it now?\n\n", wantConfirmation, ""},
	{"continue", "12 tests are slow\nContinue? ", wantConfirmation, ""},
	{"overwrite", "out.png exists. Overwrite?", wantConfirmation, ""},
	{"django flush", "Are you sure you want to do this?\n\n    Type 'yes' to continue, or 'no' to cancel: ", wantConfirmation, ""},
	{"django migration", "Please select a fix:\n 1) Provide a one-off default now\n 2) Quit and manually define a default value in models.py.\nSelect an option: ", wantChoice, ""},
	{"bash select", "1) alpha\n2) beta\n#? ", wantChoice, ""},
	{"laravel", " Do you really wish to run this command? (yes/no) [no]:\n > ", wantConfirmation, "Do you really wish to run this command? (yes/no) [no]:"},
	{"composer", "Do you trust \"a/b\" to execute code and wish to enable it now? (writes \"allow-plugins\" to composer.json) [y,n,d,?] ", wantConfirmation, ""},
	{"kernel", "Local version (LOCALVERSION) [] (NEW) \nPreemption Model (PREEMPT) [N/m/y/?] (NEW) ", wantConfirmation, ""},
	{"poetry", "Package name [shop]:  ", wantInput, ""},
	{"batch", "^CTerminate batch job (Y/N)? ", wantConfirmation, ""},
	{"windows lines", "Deleting C:\\x\r\nAre you sure (Y/N)?\r\n", wantConfirmation, "Are you sure (Y/N)?"},
	{"redrawn", "Loading 1%\rLoading 99%\r\x1b[KContinue? [y/N] ", wantConfirmation, "Continue? [y/N]"},
	{"cut rune", "\x9f\x98\x80 all good\nProceed? [y/N] ", wantConfirmation, "Proceed? [y/N]"},
	{"cut escape", ";1mBuild\x1b[0m\nProceed? [y/N] \x1b[", wantConfirmation, "Proceed? [y/N]"},
	{"question about a restart", "Some services have to restart.\nAre you sure you want to continue?\n", wantConfirmation, ""},
	{"perl debugger", "main::(-e:1):\t1\n\x1b[4m  DB<1> \x1b[24m\x1b[1m", wantCommand, ""},
	{"less with a name", "ftp             21/tcp\r\n\x1b[7m/etc/services\x1b[27m\x1b[K", wantPage, "/etc/services"},
	{"vim screen", "\x1b[21;1H~     \x1b[22;1H~     \x1b[23;1H~     \x1b[m\x1b[24;63H0,0-1\x1b[9CAll\x1b[1;1H\x1b[?25h\x1b[?4m", wantEditor, ""},
	{"node on a terminal", "Type \".help\" for more information.\r\n\x1b[1G\x1b[0J> \x1b[3G", wantCommand, ""},
	{"vercel", "> Visit https://vercel.com/oauth/device?user_code=ABCD-EFGH\n⠋ Waiting for authentication...", wantSignIn, ""},
}

func TestAsks(t *testing.T) {
	t.Parallel()
	for _, tt := range asking {
		t.Run(tt.name, func(t *testing.T) {
			q, ok := asks([]byte(tt.tail))
			if !ok {
				t.Fatalf("not taken for a question: %q", tt.tail)
			}
			if q.Kind != tt.kind {
				t.Errorf("waits for %s, want %s; line %q", q.Kind, tt.kind, q.Line)
			}
			if tt.line != "" && strings.Join(strings.Fields(q.Line), " ") != tt.line {
				t.Errorf("line %q, want %q", q.Line, tt.line)
			}
		})
	}
}

// silent are ends of output of programs that do not wait for anybody.
var silent = map[string]string{
	"nothing":              "",
	"blanks":               "\n  \n\r\n",
	"vite":                 "\n  VITE v5.2.0  ready in 312 ms\n\n  ➜  Local:   http://localhost:5173/\n  ➜  Network: use --host to expose\n  ➜  press h + enter to show help\n",
	"next dev":             "   ▲ Next.js 15.0.0\n   - Local:        http://localhost:3000\n\n ✓ Starting...\n ✓ Ready in 1.2s\n",
	"jest watch":           "\nWatch Usage\n › Press a to run all tests.\n › Press f to run only failed tests.\n › Press q to quit watch mode.\n › Press Enter to trigger a test run.\n",
	"vitest":               "\x1b[32m PASS \x1b[39m Waiting for file changes...\n       press h to show help, press q to quit\n",
	"tsc -w":               "[10:15:02 AM] Found 0 errors. Watching for file changes.\n\n",
	"nodemon":              "[nodemon] to restart at any time, enter `rs`\n[nodemon] watching path(s): *.*\n[nodemon] starting `node app.js`\n",
	"flask":                " * Running on http://127.0.0.1:5000\nPress CTRL+C to quit\n",
	"django":               "Starting development server at http://127.0.0.1:8000/\nQuit the server with CONTROL-C.\n",
	"uvicorn":              "INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)\n",
	"http.server":          "Serving HTTP on 0.0.0.0 port 8000 (http://0.0.0.0:8000/) ...\n",
	"rails server":         "* Listening on http://127.0.0.1:3000\nUse Ctrl-C to stop\n",
	"node server":          "Listening on port 3000\n",
	"cra":                  "Compiled successfully!\n\nYou can now view app in the browser.\n\n  Local:            http://localhost:3000\n\nNote that the development build is not optimized.\nTo create a production build, use npm run build.\n\nwebpack compiled successfully\n",
	"jupyter":              "    To access the server, open this file in a browser:\n        file:///root/jpserver-1-open.html\n    Or copy and paste one of these URLs:\n        http://localhost:8888/tree?token=3f2a\n        http://127.0.0.1:8888/tree?token=3f2a\n",
	"flutter":              "Flutter run key commands.\nr Hot reload. 🔥🔥🔥\nR Hot restart.\nh List all available interactive commands.\nd Detach (terminate \"flutter run\" but leave application running).\nc Clear the screen\nq Quit (terminate the application on the device).\n",
	"expo":                 "› Press s │ switch to Expo Go\n› Press a │ open Android\n› Press ? │ show all commands\n\nLogs for your project will appear below. Press Ctrl+C to exit.\n",
	"spring":               "2026-03-01T10:00:00.000Z  INFO 1 --- [main] c.e.App : Started App in 2.3 seconds (process running for 2.9)\n",
	"postgres":             "2026-03-01 10:00:00.000 UTC [1] LOG:  database system is ready to accept connections\n",
	"mongod":               `{"t":{"$date":"2026-03-01T10:00:00"},"s":"I","c":"NETWORK","msg":"Waiting for connections","attr":{"port":27017,"ssl":"off"}}` + "\n",
	"redis server":         "1:M 01 Mar 2026 10:00:00.000 * Ready to accept connections tcp\n",
	"minikube tunnel":      "✅  Tunnel successfully started\n\n📌  NOTE: Please do not close this terminal as this process must stay alive for the tunnel to be accessible ...\n",
	"port-forward":         "Forwarding from 127.0.0.1:8080 -> 80\nForwarding from [::1]:8080 -> 80\n",
	"server stop key":      "Server started\nPress Enter to stop the server\n",
	"console server":       "Now listening on: http://localhost:5000\nApplication started. Press Ctrl+C to shut down.\n",
	"cargo":                "   Compiling serde v1.0.203\n   Compiling tokio v1.38.0\n    Building [=====================>     ] 212/260: tokio, hyper(build)\r",
	"cargo test":           "test net::keeps_open ... ok\ntest net::slow has been running for over 60 seconds\n",
	"go test":              "=== RUN   TestServe\n=== PAUSE TestServe\n=== CONT  TestServe\n",
	"go test name":         "=== RUN   TestAsk/continue?_(y/n)\n",
	"go fail":              "--- FAIL: TestAsk (0.00s)\n    ask_test.go:12: got \"Continue? [y/n]\"\n",
	"go panic":             "goroutine 1 [select]:\nmain.main()\n\t/src/main.go:12 +0x1d\n",
	"goroutine":            "goroutine 18 [chan receive, 2 minutes]:\n",
	"pytest":               "tests/test_api.py::test_prompt PASSED                    [ 45%]\ntests/test_api.py::test_slow ",
	"pytest dots":          "collected 120 items\n\ntests/test_api.py ......................",
	"unittest":             "test_asks (tests.test_cli.PromptTest.test_asks) ... ",
	"unittest doc":         "test_confirm (tests.T)\nAre you sure prompts? ... ok\n",
	"mocha":                "  prompt\n    ✓ asks before overwriting (y/n)\n    ✓ would you like to continue?\n",
	"jest name":            "  ✓ Are you sure? (3 ms)\n",
	"make":                 "make[1]: Entering directory '/src'\ncc -O2 -c -o a.o a.c\n",
	"cmake":                "-- Looking for pthread.h - found\n[ 45%] Building CXX object CMakeFiles/a.dir/a.cc.o\n",
	"configure":            "checking for gcc... gcc\nchecking whether the C compiler works... ",
	"gcc":                  "a.c: In function 'main':\na.c:3:5: warning: unused variable 'x' [-Wunused-variable]\n",
	"gcc note":             "a.c:3:5: error: 'prinft' undeclared (first use in this function); did you mean 'printf'?\n",
	"rustc":                "error[E0425]: cannot find value `x` in this scope\n --> src/main.rs:2:5\n  |\n2 |     x?\n  |     ^ help: a local variable with a similar name exists: `y`\n",
	"tsc":                  "src/a.ts(3,5): error TS2304: Cannot find name 'foo'. Did you mean 'bar'?\n",
	"tsc library":          "error TS2583: Cannot find name 'Map'. Do you need to change your target library?\n",
	"eslint":               "/src/a.js\n  3:5  error  'x' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)\n",
	"docker daemon":        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n",
	"docker pull":          "a1b2c3: Downloading [==================>                                ]  12.3MB/34.5MB\r",
	"docker build":         "#12 [builder 4/6] RUN go build ./...\n#12 34.56 go: downloading golang.org/x/sys v0.50.0\n",
	"wget":                 "Saving to: 'big.iso'\n\nbig.iso              45%[========>           ] 512.00M  10.2MB/s    eta 55s    ",
	"curl":                 "  % Total    % Received % Xferd  Average Speed   Time\n 45  100M   45 45.0M    0     0  1024k      0  0:01:40  0:00:45  0:00:55 1024k\r",
	"download":             "Downloading foo... 45%",
	"downloading":          "Downloading model.bin: ",
	"pip":                  "Collecting torch\n  Downloading torch-2.3.0-cp312.whl (779.1 MB)\n     ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 512.3/779.1 MB 10.2 MB/s eta 0:00:27\r",
	"pip wheel":            "Building wheels for collected packages: grpcio\n  Building wheel for grpcio (setup.py): started\n",
	"pip running":          "  Building wheel for grpcio (setup.py): still running...\n",
	"npm install":          "npm warn deprecated glob@7.2.3: Glob versions prior to v9 are no longer supported\n⠹",
	"npm script":           "\n> shop@1.0.0 build\n> vite build\n\n",
	"tqdm":                 " 45%|████▌     | 45/100 [00:45<00:55,  1.00s/it]",
	"tqdm redrawn":         "\r 44%|████▍     | 44/100 [00:44<00:56]\r 45%|████▌     | 45/100 [00:45<00:55]",
	"git clone":            "Cloning into 'linux'...\nremote: Enumerating objects: 100, done.\nReceiving objects:  45% (45/100), 12.00 MiB | 1.00 MiB/s\r",
	"git log":              "commit 3f2a9c1d4e5b6a7f8091a2b3c4d5e6f708192a3b\nAuthor: A <a@example.com>\nDate:   Mon Mar 2 10:00:00 2026 +0000\n\n    Ask before overwriting?\n",
	"git hash":             "3f2a9c1d4e5b6a7f8091a2b3c4d5e6f708192a3b\n",
	"diff":                 "-\tfmt.Print(\"Continue? \")\n+\tfmt.Print(\"Continue? (y/n) \")\n",
	"question in a log":    "Do you want to continue? [Y/n] y\nGet:1 http://deb.debian.org/debian bookworm InRelease [151 kB]\n",
	"question answered":    "Do you want to continue? [Y/n] y\n",
	"aborted":              "Do you want to continue? [Y/n] Abort.\n",
	"assumed":              "Do you want to continue? [Y/n] yes (assumed)\nWorking\n",
	"clack answered":       "◇  Select a framework:\n│  React\n│\n◇  Scaffolding project in /src/app...\n",
	"clack message":        "│\n◆  Project created\n│\n",
	"clack at work":        "◆  Project created\n│\n◒  Installing dependencies",
	"server exit key":      "Now listening on: http://localhost:5000\nPress any key to exit.\n",
	"badge":                "\x1b[7m\x1b[33m RUNS \x1b[39m\x1b[27m src/a.test.js",
	"reverse above":        "\x1b[7m summary \x1b[27m\n12 done\n",
	"prompts answered":     "✔ Would you like to use TypeScript? … No / Yes\n",
	"log question":         "2026-03-01 10:00:00 WARN  retry: is the server up?\n",
	"log question mark":    "[INFO] Are you sure the path exists?\n",
	"log colon":            "2026-03-01T10:00:00Z info request headers:\n",
	"plain colon":          "The following packages will be upgraded:\n",
	"section":              "Results:\n",
	"json":                 "{\n  \"question\": \"Continue? (y/n)\",\n  \"password\":\n",
	"json line":            `{"level":"info","msg":"Enter password:"}` + "\n",
	"yaml":                 "database:\n  user: app\n  password:\n",
	"xml":                  "<a>\n  <b>1</b>\n</a>",
	"html":                 "<p>Are you sure?</p>\n",
	"url query":            "GET http://example.com/search?",
	"python trace":         "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n",
	"java trace":           "java.lang.IllegalStateException: Are you sure?\n\tat com.example.App.main(App.java:12)\n",
	"java trace end":       "\tat java.base/java.lang.Thread.run(Thread.java:1583)\nCaused by: java.net.ConnectException: Connection refused\n",
	"help text":            "Options:\n  -i, --interactive   ask before each (y/n)\n  -y, --yes           assume yes to every question\n",
	"usage":                "usage: tool [-h] [-y] file [y/n]\n",
	"markdown":             "# FAQ\n\n## What is it?\n\nA tool.\n",
	"markdown quote":       "> Are you sure?\n",
	"sql":                  "INSERT 0 1\nUPDATE 42\n",
	"table":                " id | name\n----+------\n  1 | a\n(1 row)\n",
	"ansible":              "TASK [Ask for password] *****************\nok: [web1]\n",
	"ansible playbook":     "PLAY [web] *****\n\nTASK [Gathering Facts] *****\n",
	"terraform apply":      "aws_instance.web: Still creating... [45s elapsed]\n",
	"kubectl wait":         "Waiting for deployment \"web\" rollout to finish: 1 of 3 updated replicas are available...\n",
	"gradle":               "<=============> 45% EXECUTING [45s]\n> :app:compileJava\n> IDLE\n",
	"gradle bar":           "\x1b[1m<====---------> 33% EXECUTING [1m 2s]\x1b[m\x1b[35D\n> :test > 12 tests completed",
	"maven":                "[INFO] --- surefire:3.2.5:test (default-test) @ app ---\n[INFO] Running com.example.AppTest\n",
	"sleep":                "waiting for the database...\n",
	"result of a long sum": "Sum of squares: ",
	"processing":           "Processing file: ",
	"progress":             "Progress: ",
	"test case running":    "Running test (3 of 10): ",
	"dots":                 "..........",
	"shell trace":          "+ read -p 'Continue? [y/N] ' answer\n",
	"shell command":        "$ npm run build\n",
	"tail -f":              "==> /var/log/syslog <==\nMar  1 10:00:00 box cron[1]: (root) CMD (run-parts)\n",
	"strace":               "read(0, ",
	"cowsay":               " ____________\n< Continue? >\n ------------\n",
	"bundle":               "Fetching gem metadata from https://rubygems.org/........\n",
	"apt progress":         "Get:1 http://deb.debian.org bookworm InRelease\n\r0% [Working]\r            \rReading package lists... 45%\r",
	"press in prose":       "Fixed: the dialog closed when users press enter twice.\n",
	"more in prose":        "and 12 more lines\n",
	"token count":          "Tokens used: 1,234\nTokens per second: 45.1\n",
	"password in prose":    "Reset the password for user 3.\n",
	"ssh connect":          "debug1: Next authentication method: publickey\n",
	"arrow help":           "Use arrow keys to play.\nScore: 12\nGame saved to /tmp/x\n",
	"browser tests":        "Waiting for browser tests\n12 passed\n",
	"sign-in done":         "Waiting for authentication...\nLogged in as dev\n",
}

func TestDoesNotAsk(t *testing.T) {
	t.Parallel()
	for name, tail := range silent {
		t.Run(name, func(t *testing.T) {
			if q, ok := asks([]byte(tail)); ok {
				t.Errorf("taken for a question that waits for %s: %q in %q", q.Kind, q.Line, tail)
			}
		})
	}
}

// Colours, a late reset and what was printed before change nothing.
func TestAsksInColour(t *testing.T) {
	t.Parallel()
	for _, tt := range asking {
		tail := "\x1b[32mok\x1b[0m\n\x1b[1;36m" + tt.tail + "\x1b[0m\x1b[?25h"
		if q, ok := asks([]byte(tail)); !ok || q.Kind != tt.kind {
			t.Errorf("%s: waits for %q, want %q", tt.name, q.Kind, tt.kind)
		}
	}
	for name, tail := range silent {
		if strings.TrimSpace(tail) == "" {
			continue
		}
		if q, ok := asks([]byte("\x1b[32mok\x1b[0m\n\x1b[33m" + tail + "\x1b[0m")); ok {
			t.Errorf("%s: taken for a question that waits for %s: %q", name, q.Kind, q.Line)
		}
	}
}

// A question counts until something follows it.
func TestAsksNoMore(t *testing.T) {
	t.Parallel()
	for _, tt := range asking {
		if q, ok := asks([]byte(tt.tail + "\nUnpacking libc6 over the old version\nSetting up libc6\n")); ok {
			t.Errorf("%s: still asks: %q", tt.name, q.Line)
		}
	}
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"After this operation, 1 kB of additional disk space will be used.\nDo you want to continue? [Y/n] ": "DEBIAN_FRONTEND=noninteractive",
		"Do you want to continue (Y/n)?  ":                                             "--quiet",
		"[sudo] password for dev: ":                                                    "sudo -n",
		"root@10.0.0.7's password: ":                                                   "BatchMode=yes",
		"Enter passphrase for key '/root/.ssh/id_rsa': ":                               "ssh-agent",
		"Username for 'https://github.com': ":                                          "GIT_TERMINAL_PROMPT=0",
		"Continue connecting? Are you sure you want to continue connecting (yes/no)? ": "accept-new",
		"hint: Waiting for your editor to close the file... ":                          "git commit -m",
		"package name: (shop) ":                                                        "npm init -y",
		"Ok to proceed? (y) ":                                                          "npx --yes",
		"  Enter a value: ":                                                            "-auto-approve",
		"Proceed ([y]/n)? ":                                                            "conda",
		"text\n:":                                                                      "--no-pager",
		"Continue? (y/n) ":                                                             `printf 'y\n' |`,
		"Press any key to continue . . . ":                                             `printf '\n' |`,
		"To sign in, open the page https://a.example and enter the code ABCD to authenticate.\n": "Show the user",
		">>> ":                "-c",
		"Password: ":          "ask the user",
		"Verification code: ": "ask the user",
		"◆  Select a framework:\n│  ● Vanilla\n│  ○ Vue\n└\n": "--no-interactive",
		"cp: overwrite 'b'? ":    "-f",
		"Real name: ":            "standard input",
		"? Pick one\n❯ a\n  b\n": "--help",
		"Username: ":             "account",
		"[1] a\n[2] b\nchoice: ": "defaults",
	}
	for tail, want := range tests {
		q, ok := asks([]byte(tail))
		if !ok {
			t.Errorf("%q: not taken for a question", tail)
		} else if got := q.Advice(); !strings.Contains(got, want) {
			t.Errorf("%q waits for %s: advice %q does not name %s", tail, q.Kind, got, want)
		}
	}
}

func TestLineIsClipped(t *testing.T) {
	t.Parallel()
	q, ok := asks([]byte(strings.Repeat("ä", 300) + " continue? [y/N] "))
	if !ok || utf8.RuneCountInString(q.Line) != maxLine || !strings.HasSuffix(q.Line, "ä continue? [y/N]") || q.Line[:len("…")] != "…" {
		t.Errorf("line %q (%d characters), %v", q.Line, utf8.RuneCountInString(q.Line), ok)
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, want string
		open, spaced   bool
	}{
		{"redraw", "12%\r100%", "100%", true, false},
		{"CRLF", "a\r\nb\r\n", "a|b", false, false},
		{"CR at the end", "12%\r", "12%", true, false},
		{"erased", "old\x1b[2K\x1b[1Gnew ", "new", true, true},
		{"cleared", "old\x1b[2J\x1b[Hnew\n", "new", false, false},
		{"backspace", "yes\b\b\bno ", "no", true, true},
		{"colour behind the blank", "name: \x1b[0m", "name:", true, true},
		{"title", "\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", "ab", true, false},
		{"title without an end", "\x1b]0;title\na", "a", true, false},
		{"charset", "\x1b(Ba", "a", true, false},
		{"moved", "a\x1b[3Cb", "a b", true, false},
		{"bad bytes", "\x9f\x98a\xffb\xf0\x9f", "ab", true, false},
		{"control characters", "a\x00\x07\u0085b\u202ec", "a bc", true, false},
		{"blank below", "a \n  ", "a", false, false},
	}
	for _, tt := range tests {
		s := render([]byte(tt.in))
		if got := strings.Join(s.lines, "|"); got != tt.want || s.open != tt.open || s.spaced != tt.spaced {
			t.Errorf("%s: %q, open %v, spaced %v; want %q, %v, %v", tt.name, got, s.open, s.spaced, tt.want, tt.open, tt.spaced)
		}
	}
}

func FuzzAsks(f *testing.F) {
	for _, tt := range asking {
		f.Add([]byte(tt.tail))
	}
	for _, tail := range silent {
		f.Add([]byte(tail))
	}
	f.Fuzz(func(t *testing.T, tail []byte) {
		q, ok := asks(tail)
		if !ok {
			if q != (question{}) {
				t.Fatalf("no question, but %+v", q)
			}
			return
		}
		if q.Line == "" || q.Kind == "" || q.Advice() == "" {
			t.Fatalf("incomplete: %+v", q)
		}
		if !utf8.ValidString(q.Line) || strings.ContainsFunc(q.Line, unicode.IsControl) {
			t.Fatalf("line %q", q.Line)
		}
		if n := utf8.RuneCountInString(q.Line); n > maxLine {
			t.Fatalf("%d characters: %q", n, q.Line)
		}
	})
}

func BenchmarkAsks(b *testing.B) {
	log := strings.Repeat("\x1b[32mINFO\x1b[0m 2026-03-01 10:00:00 GET /orders/12 served in 3 ms\n", 16)
	for name, tail := range map[string]string{
		"log":      log[len(log)-1024:],
		"one line": strings.Repeat("a (b) ", 170) + ":",
		"question": log[len(log)-994:] + "Do you want to continue? [Y/n] ",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				asks([]byte(tail))
			}
		})
	}
}
