import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { readFileSync } from 'node:fs'
import { createServer, isIP } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'

/*
 * Runs inside a network namespace of its own (see guard.test.ts). The hostile addresses are really there, bound on
 * the loopback device. It counts every TCP connection by its destination address. Its arguments are the directory with
 * the certificates, and the compiled outbound guard.
 */
const [, , directory, guard] = process.argv
const { createOutbound } = await import(guard)
const listed = ['hostile-urls.json', 'more-urls.json'].flatMap(
  (name) => JSON.parse(readFileSync(new URL(`../data/hostile/${name}`, import.meta.url), 'utf8')).entries,
)
/** Answers that look public in one way or another, which the list lacks. */
const answered = { mapped: '::ffff:93.184.216.34', sixbone: '3ffe::1', isatap: '2606:4700::5efe:7f00:1' }
const own = Object.entries(answered).map(([id, address]) => {
  return { id, category: 'dns', stage: 'dns', url: `https://${id}-own.test/hook`, dns: [address] }
})
const entries = [...listed, ...own]
const PUBLIC = '93.184.216.34'
const DNS = '127.0.0.53'
const CONTROLS = [
  'https://pub.test/ok',
  'https://PUB.test/ok',
  'https://pub.test:443/ok',
  'https://xn--bcher-kva.test/ok',
]

const ADDRESSES = [
  PUBLIC,
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.100.100.200',
  '100.127.255.254',
  '127.255.255.254',
  '168.63.129.16',
  '169.254.169.254',
  '169.254.170.2',
  '172.16.0.1',
  '172.31.255.254',
  '192.0.0.8',
  '192.0.0.192',
  '192.88.99.1',
  '192.168.1.1',
  '198.19.255.254',
  '198.51.100.1',
  '203.0.113.1',
  '240.0.0.1',
  '::7f00:1',
  '::a9fe:a9fe',
  '64:ff9b::7f00:1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::a9fe:a9fe',
  '100::1',
  '100:0:0:1::1',
  '2001:0:a9fe:a9fe::1',
  '2001:5::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '2002:a9fe:a9fe::1',
  '3ffe::1',
  '3fff::1',
  '2606:4700::5efe:7f00:1',
  '4000::1',
  'fc00::1',
  'fd00:ec2::254',
  'fd7a:115c:a1e0::53',
  'fe80::1',
  'febf::1',
]

execFileSync('ip', ['link', 'set', 'lo', 'up'])
const bound = ADDRESSES.filter((address) => {
  try {
    const bits = isIP(address) === 4 ? 32 : 128
    execFileSync(
      'ip',
      ['address', 'add', `${address}/${bits}`, 'dev', 'lo', ...(bits === 128 ? ['nodad'] : [])],
      {
        stdio: 'ignore',
      },
    )
    return true
  } catch {
    return false
  }
})

let reached = []
const note = (socket, port) => {
  reached.push({ address: socket.localAddress?.replace(/^::ffff:/, ''), port })
  socket.on('error', () => undefined)
}
const tls = createTlsServer({
  cert: readFileSync(`${directory}/server.crt`),
  key: readFileSync(`${directory}/server.key`),
})
let requests = 0
tls.on('tlsClientError', () => undefined)
tls.on('secureConnection', (socket) => {
  socket.on('error', () => undefined)
  socket.once('data', (data) => {
    requests += 1
    const [, code, target] = /^POST \/r\/(\d+)\/(\w+)/.exec(String(data)) ?? []
    const location = {
      loop: 'http://127.0.0.1/',
      meta: 'http://169.254.169.254/',
      name: 'https://loop4.test/',
    }
    const where = location[target] ?? 'https://[::ffff:127.0.0.1]/'
    const head = code === undefined ? '200 OK' : `${code} Moved\r\nLocation: ${where}`
    socket.end(`HTTP/1.1 ${head}\r\nContent-Length: 0\r\n\r\n`)
  })
})
for (const port of [443, 80, 22, 6379, 8443]) {
  const server = createServer((socket) => {
    note(socket, port)
    if (port === 443) tls.emit('connection', socket)
    else socket.end()
  })
  await new Promise((resolve) => server.listen({ host: '::', port, backlog: 128 }, resolve))
}

// names of the controls, of the entries, and of redirects; names that flip have their answers below
const names = new Map([
  ['pub.test', [PUBLIC]],
  ['xn--bcher-kva.test', [PUBLIC]],
  ...entries.flatMap(({ url, dns }) => (dns === undefined ? [] : [[new URL(url).hostname, dns]])),
  ['loop4.test', ['127.0.0.1']],
  ['mixed.test', [PUBLIC, '127.0.0.1']],
  ['many.test', [...Array.from({ length: 30 }, () => PUBLIC), '127.0.0.1']],
])
const asked = new Map()
function answersFor(name, type) {
  const flips = /^rebind(\d+|alt)\.test$/.exec(name)?.[1]
  if (flips !== undefined) {
    if (type !== 1) return []
    const count = (asked.get(name) ?? 0) + 1
    asked.set(name, count)
    const good = flips === 'alt' ? count % 2 === 1 : count <= Number(flips)
    return [good ? PUBLIC : '127.0.0.1']
  }
  const known = names.get(name) ?? []
  const all = known.flatMap((one) =>
    isIP(one) === 0 ? (names.get(one.replace(/^CNAME:?\s*/i, '')) ?? []) : [one],
  )
  return all.filter((address) => isIP(address) === (type === 1 ? 4 : 6))
}
const dns = createSocket('udp4')
dns.on('message', (question, from) => {
  const labels = []
  let at = 12
  while (question[at] > 0) {
    labels.push(question.toString('latin1', at + 1, at + 1 + question[at]))
    at += 1 + question[at]
  }
  const name = labels.join('.').toLowerCase()
  const type = question.readUInt16BE(at + 1)
  const records = answersFor(name, type).map((address) => {
    const data = bytesOf(address)
    const head = Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length])
    return Buffer.concat([head, data])
  })
  const header = Buffer.alloc(12)
  header.writeUInt16BE(question.readUInt16BE(0), 0)
  header.writeUInt16BE(0x8580, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  dns.send(Buffer.concat([header, question.subarray(12, at + 5), ...records]), from.port, from.address)
})
await new Promise((resolve) => dns.bind(53, DNS, resolve))

function bytesOf(address) {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number))
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const hex =
    dotted === null
      ? address
      : dotted[1] +
        [(dotted[2] << 8) | dotted[3], (dotted[4] << 8) | dotted[5]].map((n) => n.toString(16)).join(':')
  const [head = '', tail] = hex.split('::')
  const groups = (text) => (text === '' || text === undefined ? [] : text.split(':'))
  const zeros = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length
  const all = [...groups(head), ...Array.from({ length: zeros }, () => '0'), ...groups(tail)]
  return Buffer.from(
    all.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]),
  )
}

const outbound = createOutbound({
  allowed: [],
  ca: readFileSync(`${directory}/ca.crt`, 'utf8'),
  dnsServers: [DNS],
})
const post = (url) =>
  outbound.post(url, { headers: { 'content-type': 'application/json' }, body: '{}', deadlineMs: 3_000 })

const results = []
for (const { id, category, stage, url } of entries) {
  reached = []
  requests = 0
  const answers = []
  // a name that changes its mind is asked often enough to have done so
  for (let i = 0; i < (stage === 'connect' ? 30 : 1); i++) answers.push(await post(url))
  results.push({
    id,
    category,
    stage,
    answers: [...new Set(answers.map((one) => one.code ?? one.status))],
    forbidden: reached.filter(({ address }) => address !== PUBLIC),
    connections: reached.length,
    requests,
  })
}
const controls = []
for (const url of CONTROLS) controls.push((await post(url)).status)
console.log(JSON.stringify({ bound, results, controls }))
process.exit(0)
