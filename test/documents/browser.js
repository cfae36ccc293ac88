// docs/breached.html in headless Chromium: a filter of this server, typed passwords, and what the page answers.
//
//     scripts/throwaway node test/documents/browser.js
//
// Needs chromium-headless-shell (Debian) and a server in the PG* environment. Ends with "N passed, N failed".
'use strict';
const { execFileSync, spawn } = require('child_process');
const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');

const top = path.join(__dirname, '..', '..');
const sql = `CREATE EXTENSION bloomx; SELECT bloom_agg('secret' || n, 1000000, 0.001) FROM generate_series(1, 100000) n`;
const database = `bloomx_browser_${process.pid}`;
const psql = (on, command) => execFileSync('psql', ['-XqAt', '-d', on, '-c', command], { encoding: 'utf8', maxBuffer: 1 << 26 }).trim();

// The page in a frame, used as a person would; the document's text is the result.
const user = `<!DOCTYPE html><iframe src="/docs/breached.html?filter=/filter"></iframe><pre id="result">nothing</pre><script>
  const until = async (condition) => { while (!condition()) await new Promise((go) => setTimeout(go, 20)); };
  onload = async () => {
    const page = document.querySelector('iframe').contentDocument, at = (id) => page.getElementById(id);
    await until(() => at('answer').textContent !== 'Loading the filter ...');
    const said = [at('about').textContent];
    for (const word of ['secret4711', 'correct horse battery staple']) {
      at('password').value = word;
      at('password').dispatchEvent(new Event('input'));
      said.push(at('answer').textContent);
    }
    document.getElementById('result').textContent = said.join('|');
  };
</script>`;

let passed = 0, failed = 0;
function check(name, got, expected) {
  if (got === expected) {
    passed++;
    console.log(`ok - ${name}`);
  } else {
    failed++;
    console.log(`not ok - ${name}\n#  expected ${expected}\n#       got ${got}`);
  }
}

psql(process.env.PGDATABASE ?? 'postgres', `CREATE DATABASE ${database} TEMPLATE template0 ENCODING 'UTF8'`);
let filter;
try {
  filter = psql(database, sql);
} finally {
  psql(process.env.PGDATABASE ?? 'postgres', `DROP DATABASE ${database}`);
}

const asked = [];
const types = { '.html': 'text/html', '.js': 'text/javascript' };
const server = http.createServer((request, response) => {
  const name = new URL(request.url, 'http://localhost').pathname;
  asked.push(name);
  const own = { '/user': user, '/filter': filter }[name];
  const file = path.join(top, name);
  if (own === undefined && !(file.startsWith(top) && fs.existsSync(file))) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'Content-Type': own === filter ? 'text/plain' : types[path.extname(name)] ?? 'text/html' });
  response.end(own ?? fs.readFileSync(file));
}).listen(0, '127.0.0.1', () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'bloomx-browser-'));
  const browser = spawn('chromium-headless-shell', ['--no-sandbox', `--user-data-dir=${home}`, '--virtual-time-budget=60000', '--dump-dom',
    `http://127.0.0.1:${server.address().port}/user`], { stdio: ['ignore', 'pipe', 'ignore'] });
  let dom = '';
  browser.stdout.on('data', (chunk) => { dom += chunk; });
  browser.on('error', (error) => { dom = String(error); });
  browser.on('close', () => {
    server.close();
    fs.rmSync(home, { recursive: true, force: true });
    const [about, known, other] = (/<pre id="result">(.*?)<\/pre>/.exec(dom)?.[1] ?? dom).split('|');
    check('the filter is shown', about, 'A filter planned for 1,000,000 keys of type text, 2,097,152 bytes.');
    check('a password of the list', known, 'Possibly in the list: choose another one.');
    check('another password', other, 'Definitely not in the list.');
    check('nothing is sent', asked.filter((name) => !/^\/(user|filter|docs\/breached\.html|clients\/js\/bloomx\.js|favicon\.ico)$/.test(name)).join(), '');
    console.log(`${passed} passed, ${failed} failed`);
    process.exitCode = failed ? 1 : 0;
  });
});
