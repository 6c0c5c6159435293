import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mayBeNamed, mayConnect, parseAllowed } from '../../src/outbound/address.ts'
import { checkUrl } from '../../src/outbound/url.ts'
import { runs } from '../runs.ts'

interface Urls {
  readonly entries: readonly { id: string; stage: string; url: string; why: string }[]
  readonly public?: readonly string[]
}
const dataOf = (name: string): Urls =>
  JSON.parse(readFileSync(new URL(`../data/hostile/${name}`, import.meta.url), 'utf8')) as Urls
const { entries } = dataOf('hostile-urls.json')
const more = dataOf('more-urls.json')

/** Addresses of the metadata of Amazon, Google, Scaleway, Oracle, Akamai and Alibaba. */
const METADATA_V6 = [
  'fd00:ec2::254',
  'fd20:ce::254',
  'fd00:42::42',
  'fd00:c1::a9fe:a9fe',
  'fd00:a9fe:a9fe::1',
  'fd00:100::100:200',
]

const accepted = (url: string, allowed = ''): boolean => checkUrl(url, parseAllowed(allowed)).ok

describe('the URL of a destination', () => {
  it.each([
    'https://pub.test/ok',
    'https://PUB.test/ok',
    'https://pub.test:443/ok',
    'https://xn--bcher-kva.test/ok',
    ...(more.public ?? []),
  ])('may be %s', (url) => expect(checkUrl(url, [])).toMatchObject({ ok: true }))

  it.each([...entries, ...more.entries].filter(({ stage }) => stage === 'syntax' || stage === 'literal'))(
    'may not be $id: $why',
    ({ url }) => {
      expect(checkUrl(url, [])).toEqual({ ok: false, reason: expect.stringMatching(/^it/) })
    },
  )

  it.each([
    ['a letter that becomes ASCII in lower case', 'https://\u212a.test/'],
    ['full stops of other scripts', 'https://pub。test/'],
    ['full-width digits', 'https://１２７.0.0.1/'],
    ['a label that lower case alone would make a name', 'https://pub.test\u200b/'],
    ['letters that the parser encodes', 'https://pub.test/\u202etxt'],
    ['half a character', 'https://pub.test/\ud800'],
    ['a port with zeros before it', 'https://pub.test:00443/'],
    ['a port that is only a colon', 'https://pub.test:/'],
    ['an address with a dot behind it', 'https://93.184.216.34./'],
    ['an address in one number', 'https://1572395042/'],
    ['zeros that the parser drops', 'https://[2606:4700:0::1111]/'],
    ['an address whose end is written as IPv4', 'https://[2606:4700::0.0.17.17]/'],
    ['a public address mapped into IPv6', 'https://[::ffff:93.184.216.34]/'],
    ['a name of the alternative name space', 'https://foo.alt/'],
    ['a name of the infrastructure', 'https://1.0.0.127.in-addr.arpa/'],
    ['a name that hosts files have', 'https://localhost6.localdomain6/'],
    ['a name that collides', 'https://relay.mail/'],
  ])('may not hold %s: %s', (_, url) => expect(accepted(url)).toBe(false))

  const long = (chars: number): string =>
    `${'a'.repeat(50)}.`
      .repeat(5)
      .slice(0, chars - 5)
      .concat('.test')

  it.each([
    ['', 'it must have 1 to 2048 characters'],
    [`https://pub.test/${'a'.repeat(2_032)}`, 'it must have 1 to 2048 characters'],
    ['http://pub.test/', 'it must begin with https:// and a host'],
    ['https://@pub.test/', 'it must not hold a user or a password'],
    ['https://pub%2etest/', 'its host must not be percent-encoded'],
    ['https://pub.test/x#y', 'it must not have a fragment'],
    ['https://pub.test/x#', 'it must not have a fragment'],
    ['https://pub.test/%00', 'it contains a NUL'],
    ['https://pub.test/?a=%00', 'it contains a NUL'],
    [`https://${long(254)}/`, 'its host is not a name'],
  ])('is refused with a reason that says how to fix it: %s', (url, reason) =>
    expect(checkUrl(url, [])).toEqual({ ok: false, reason }),
  )

  it('may be as long as its limit, and so may its host name', () => {
    expect(accepted(`https://pub.test/${'a'.repeat(2_031)}`)).toBe(true)
    expect(accepted(`https://${long(253)}/`)).toBe(true)
  })

  it('may have a name or redirects that only the connection can judge', () => {
    const later = entries.filter(
      ({ stage }) => stage === 'dns' || stage === 'connect' || stage === 'redirect',
    )
    expect(later.length).toBeGreaterThan(20)
    expect(later.filter(({ url }) => !accepted(url))).toEqual([])
  })

  it('may have another port or an internal address only if exactly that network and port are allowed', () => {
    const allowed = '127.0.0.1/32:8443, fd00::/8:9443'
    for (const url of ['https://127.0.0.1:8443/x', 'https://localhost:8443/', 'https://[fd00::7]:9443/'])
      expect([url, accepted(url), accepted(url, allowed)]).toEqual([url, false, true])
    for (const url of [
      'https://127.0.0.1/x',
      'https://127.0.0.1:9443/x',
      'https://127.0.0.2:8443/x',
      'https://localhost/',
      'https://[fd00::7]:8443/',
      'https://169.254.169.254:8443/',
      'http://127.0.0.1:8443/',
    ])
      expect([url, accepted(url, allowed)]).toEqual([url, false])
  })
})

describe('an origin that the operator has named', () => {
  it('may be anywhere except at a metadata service, with no other port or host', () => {
    const named = 'https://sso.internal:8443'
    expect(checkUrl(`${named}/x`, [], named).ok).toBe(true)
    for (const url of [
      'https://sso.internal/x',
      'https://sso.internal:8444/',
      'https://a.sso.internal:8443/',
      `${named}\\x`,
      'https://u@sso.internal:8443/',
      'https://@sso.internal:8443/',
      'https://sso%2einternal:8443/',
      `${named}/x#y`,
      `${named}/%00`,
    ])
      expect([url, checkUrl(url, [], named).ok]).toEqual([url, false])
    for (const address of ['10.1.2.3', '127.0.0.1', '::1', 'fd00::1', '8.8.8.8'])
      expect([address, mayBeNamed(address)]).toEqual([address, true])
    for (const address of ['169.254.169.254', '100.100.100.200', ...METADATA_V6, 'fe80::1', '0.0.0.0', 'x'])
      expect([address, mayBeNamed(address)]).toEqual([address, false])
  })
})

describe('networks that are allowed for development', () => {
  it('the allowed networks are a list of networks with their ports', () => {
    expect(parseAllowed(' 127.0.0.1/32:8443 ,::1/128:1,10.0.0.0/8:65535').map(({ text }) => text)).toEqual([
      '127.0.0.1/32:8443',
      '::1/128:1',
      '10.0.0.0/8:65535',
    ])
    expect(parseAllowed('')).toEqual([])
    for (const text of [
      '127.0.0.1',
      '127.0.0.1:8443',
      '127.0.0.1/33:1',
      '::1/129:1',
      '1.2.3.4/8:0',
      'x/8:1',
      '*:443',
    ])
      expect(() => parseAllowed(text), text).toThrow(/is not a network and port/)
  })

  it('never include metadata or link-local addresses, or a network without hosts', () => {
    const all = parseAllowed('0.0.0.0/0:8443, ::/0:8443')
    for (const address of ['127.0.0.1', '10.1.2.3', '::1', 'fd12::1', '8.8.8.8'])
      expect([address, mayConnect(address, 8443, all)]).toEqual([address, true])
    for (const address of [
      '0.0.0.0',
      '169.254.169.254',
      '169.254.170.2',
      '100.100.100.200',
      '168.63.129.16',
      '192.0.0.192',
      '224.0.0.1',
      '255.255.255.255',
      '::',
      'fe80::1',
      'fe80::1%eth0',
      ...METADATA_V6,
      'ff02::1',
      '::ffff:169.254.169.254',
      '::ffff:a9fe:a9fe',
      '64:ff9b::a9fe:a9fe',
      'x',
    ])
      expect([address, mayConnect(address, 8443, all)]).toEqual([address, false])
  })
})

describe('an address', () => {
  /** A second definition: public unicast addresses may be called. Numbers give the ranges of the IANA registries. */
  const REFUSED_4: readonly [number, number][] = [
    [0x00000000, 8],
    [0x0a000000, 8],
    [0x64400000, 10],
    [0x7f000000, 8],
    [0xa9fe0000, 16],
    [0xac100000, 12],
    [0xc0000000, 24],
    [0xc0000200, 24],
    [0xc01fc400, 24],
    [0xc034c100, 24],
    [0xc0586300, 24],
    [0xc0a80000, 16],
    [0xc0af3000, 24],
    [0xc6120000, 15],
    [0xc6336400, 24],
    [0xcb007100, 24],
    [0xe0000000, 4],
    [0xf0000000, 4],
    [0xa83f8110, 32],
  ]
  const isRefused = (ip: number): boolean =>
    REFUSED_4.some(([net, bits]) => ip >>> (32 - bits) === net >>> (32 - bits))
  const octets = (ip: number): number[] => [ip >>> 24, (ip >>> 16) & 255, (ip >>> 8) & 255, ip & 255]

  const near = fc.constantFrom(...REFUSED_4).chain(([net, bits]) =>
    fc.tuple(fc.nat(2 ** (32 - bits) - 1), fc.constantFrom(-1, 0, 0, 0)).map(([host, step]) => {
      const edge = step === -1 ? net - 1 : net + host
      return edge >>> 0
    }),
  )
  const ip = fc.oneof(fc.nat(0xffffffff), near)
  const radix = fc.constantFrom('dec', 'hex', 'oct', 'HEX')

  const spelled = (value: number, how: string): string =>
    how === 'dec'
      ? `${value}`
      : how === 'oct'
        ? `0${value.toString(8)}`
        : how === 'hex'
          ? `0x${value.toString(16)}`
          : `0X${value.toString(16).toUpperCase()}`

  it('an IPv4 address may be called exactly when it is public, in each of 10,000 spellings', () => {
    fc.assert(
      fc.property(
        ip,
        fc.array(radix, { minLength: 4, maxLength: 4 }),
        fc.constantFrom(1, 2, 3, 4),
        (value, how, parts) => {
          const [a = 0, b = 0, c = 0, d = 0] = octets(value)
          expect(mayConnect(`${a}.${b}.${c}.${d}`, 443, [])).toBe(!isRefused(value))
          expect(accepted(`https://${a}.${b}.${c}.${d}/`)).toBe(!isRefused(value))
          const tails =
            [[value], [a, value & 0xffffff], [a, b, value & 0xffff], [a, b, c, d]][parts - 1] ?? []
          const text = tails.map((part, i) => spelled(part, how[i] ?? 'dec')).join('.')
          if (text !== `${a}.${b}.${c}.${d}`)
            expect([text, accepted(`https://${text}/`)]).toEqual([text, false])
        },
      ),
      { numRuns: runs(10_000) },
    )
  })

  const group = fc.nat(0xffff)
  const prefix = fc.constantFrom<readonly number[]>(
    [0x2001, 0],
    [0x2001, 0xdb8],
    [0x2001, 0x1ff],
    [0x2001, 0x200],
    [0x2002],
    [0x2620, 0x4f, 0x8000],
    [0x3ffe],
    [0x3fff, 0],
    [0x3fff, 0x1000],
    [0xfc00],
    [0xfe80],
    [0xfec0],
    [0xff02],
    [0, 0, 0, 0, 0, 0xffff],
    [0, 0, 0, 0, 0, 0],
    [0x64, 0xff9b],
    [0x100],
    [0x4000],
    [0x1fff],
    [0x2606, 0x4700],
    [0x2a00],
  )
  const groups = fc
    .tuple(
      fc.oneof(prefix, fc.constant<readonly number[]>([])),
      fc.array(group, { minLength: 8, maxLength: 8 }),
    )
    .map(([head, tail]) => [...head, ...tail].slice(0, 8))
  const publicSix = ([a = 0, b = 0, c = 0]: readonly number[]): boolean => {
    if (a < 0x2000 || a > 0x3fff) return false
    const special =
      (a === 0x2001 && b < 0x200) || (a === 0x2001 && b === 0xdb8) || a === 0x2002 || a === 0x3ffe
    return !special && !(a === 0x2620 && b === 0x4f && c === 0x8000) && !(a === 0x3fff && b < 0x1000)
  }

  it('an IPv4 address mapped into IPv6 may not be called, because no name or peer uses one', () => {
    const all = parseAllowed('0.0.0.0/0:8443, ::/0:8443')
    for (const address of ['::ffff:93.184.216.34', '::ffff:5db8:d822', '::FFFF:127.0.0.1']) {
      expect([address, mayConnect(address, 443, []), mayBeNamed(address)]).toEqual([address, false, false])
      expect([address, mayConnect(address, 8443, all)]).toEqual([address, false])
    }
  })

  it('an address that carries IPv4 to a tunnel may not be called with any prefix', () => {
    const all = parseAllowed('0.0.0.0/0:8443, ::/0:8443')
    for (const address of [
      '2606:4700::5efe:7f00:1',
      '2606:4700::5efe:127.0.0.1',
      '2606:4700:1:2:0:5efe:a00:1',
      '2606:4700:1:2:200:5efe:a00:1',
      '2606:4700:1:2:0200:5EFE:a00:1',
      '2606:4700:1:2:0:5efe::',
      'fd12::5efe:169.254.169.254',
    ]) {
      expect([address, mayConnect(address, 443, []), mayBeNamed(address)]).toEqual([address, false, false])
      expect([address, mayConnect(address, 8443, all)]).toEqual([address, false])
    }
    for (const address of ['2606:4700::5eff:7f00:1', '2606:4700:1:2:3:5efe:a00:1', '2606:4700::5efe:1'])
      expect([address, mayConnect(address, 443, [])]).toEqual([address, true])
  })

  it('an IPv6 address may be called exactly when it is global unicast, in each of 10,000 spellings', () => {
    fc.assert(
      fc.property(groups, fc.boolean(), fc.boolean(), (parts, long, upper) => {
        const plain = parts
          .map((part) => (long ? part.toString(16).padStart(4, '0') : part.toString(16)))
          .join(':')
        const text = upper ? plain.toUpperCase() : plain
        expect([text, mayConnect(text, 443, [])]).toEqual([text, publicSix(parts)])
        if (!publicSix(parts)) expect([text, accepted(`https://[${text}]/`)]).toEqual([text, false])
        const tail = parts.slice(6).flatMap((part) => [part >> 8, part & 255])
        const dotted = `${parts
          .slice(0, 6)
          .map((part) => part.toString(16))
          .join(':')}:${tail.join('.')}`
        expect([dotted, mayConnect(dotted, 443, [])]).toEqual([dotted, publicSix(parts)])
      }),
      { numRuns: runs(10_000) },
    )
  })
})
