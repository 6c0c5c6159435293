import { describe, expect, it } from 'vitest'
import { mailDomain, normalPath, urlHost, urlOrigin } from '../../../src/policy/language/addresses.ts'

const long = (length: number): string => 'a'.repeat(length)

describe('the domain of a mail address', () => {
  it.each([
    ['a@acme.com', 'acme.com'],
    ['First.Last+tag@ACME.com', 'acme.com'],
    ['o_neil-x+y@mail-1.acme.co.uk', 'mail-1.acme.co.uk'],
    [`${long(64)}@acme.com`, 'acme.com'],
    [`a@${long(63)}.com`, `${long(63)}.com`],
  ])('the domain of %s is %s', (address, domain) => {
    expect(mailDomain(address)).toBe(domain)
  })

  it.each([
    '',
    'a',
    '@acme.com',
    'a@',
    'a@b@acme.com',
    '=?utf-8?q?x=40evil.example?=@acme.com',
    'a=?x@acme.com',
    'a%evil.com@acme.com',
    'evil.com!a@acme.com',
    '"a b"@acme.com',
    'a(x)@acme.com',
    'a@acme.com(x)',
    'A <a@acme.com>',
    'a@acme.com,b@acme.com',
    'a@acme.com;b@evil.com',
    'a@[192.0.2.1]',
    'a@192.0.2.1',
    'a@acme',
    'a@-acme.com',
    'a@acme-.com',
    'a@acme..com',
    'a@.acme.com',
    'a@acme.com.',
    'a@ac_me.com',
    'a..b@acme.com',
    '.a@acme.com',
    'a.@acme.com',
    '-oX@acme.com',
    'a|x@acme.com',
    'a`x`@acme.com',
    'a\\@evil.com@acme.com',
    '${IFS}@acme.com',
    '~root@acme.com',
    '/etc/passwd@acme.com',
    'SRS0=abc=de=evil.io=victim@acme.com',
    ...Array.from("#$&'*/=?^{}~", (letter) => `a${letter}x@acme.com`),
    'a@acme.com\n',
    'a@acme.com\r\nBcc: x@evil.com',
    'a\u0000@acme.com',
    ' a@acme.com',
    'a@acme.com ',
    'é@acme.com',
    'a@acmé.com',
    'a@acme.\u212aom',
    `${long(65)}@acme.com`,
    `a@${long(64)}.com`,
    `a@${`${long(60)}.`.repeat(5)}com`,
    '@evil.com,@b.com:a@acme.com',
    'a@acme.com@',
    'mailto:a@acme.com',
  ])('cannot be read in %j', (address) => {
    expect(mailDomain(address)).toBeUndefined()
  })
})

describe('the host of a URL', () => {
  it.each([
    ['https://acme.com', 'acme.com'],
    ['https://ACME.com:443/x?y#z', 'acme.com'],
    ['http://acme.com:80/', 'acme.com'],
    ['HTTPS://acme.com/ü', 'acme.com'],
    ['https://192.0.2.1/', '192.0.2.1'],
    ['https://[2001:db8::1]/', '[2001:db8::1]'],
    ['https://xn--bcher-kva.example/', 'xn--bcher-kva.example'],
  ])('the host of %s is %s', (url, host) => {
    expect(urlHost(url)).toBe(host)
  })

  const UNREADABLE = [
    'acme.com',
    '//acme.com/',
    'https:acme.com',
    'https:/acme.com',
    'https:///acme.com',
    'file://acme.com/',
    'javascript://acme.com/',
    'https://user@acme.com/',
    'https://user:pw@acme.com/',
    'https://acme.com@evil.com/',
    'https://acme.com\\@evil.com',
    'https:\\\\acme.com',
    'https://acme.com%2eevil.com/',
    'https://acme%2ecom/',
    'https://acme.com./',
    'https://acme..com/',
    'https://-acme.com/',
    'https://ac_me.com/',
    'https://bücher.example/',
    'https://acme\u3002com/',
    'https://acme.\u212aom/',
    'https://acme.com\uff0f.evil.com/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://[::ffff:127.0.0.1]/',
    'https://[0:0:0:0:0:0:0:1]/',
    'https://[::1%25eth0]/',
    'https://acme.com:/',
    'https://acme.com:0443/',
    'https://acme.com:0/',
    'https://acme.com:99999/',
    'https://acme.com:x/',
    'https://acme.com /',
    ' https://acme.com/',
    'https://acme.com/\n',
    'https://ac\tme.com/',
    'https://acme.com/\u0000',
    'https://acme.com?@evil.com',
    'https://acme.com#@evil.com',
    'https://*.acme.com/',
    `https://${long(64)}.com/`,
  ]
  it.each(UNREADABLE)('cannot be read in %j, nor can the origin', (url) => {
    expect(urlHost(url)).toBeUndefined()
    expect(urlOrigin(url)).toBeUndefined()
  })

  it('cannot be read with a port other than the default of the scheme, which the origin names', () => {
    expect(urlHost('https://acme.com:8443/')).toBeUndefined()
    expect(urlHost('https://acme.com:80/')).toBeUndefined()
    expect(urlOrigin('https://ACME.com:8443/x')).toBe('https://acme.com:8443')
    expect(urlOrigin('http://acme.com:443')).toBe('http://acme.com:443')
    expect(urlOrigin('https://acme.com:443/')).toBe('https://acme.com')
    expect(urlOrigin('wss://[2001:db8::1]:9/')).toBe('wss://[2001:db8::1]:9')
  })
})

describe('a path', () => {
  it.each([
    ['/', '/'],
    ['/a/../..', '/'],
    ['/workspace/./a//b/', '/workspace/a/b'],
    ['/workspace/../etc/passwd', '/etc/passwd'],
    ['/workspace/größe...txt', '/workspace/größe...txt'],
  ])('%s is %s', (path, normal) => {
    expect(normalPath(path)).toBe(normal)
  })

  it.each([
    '',
    'a',
    './a',
    '../a',
    '~/a',
    'C:/a',
    'file:///a',
    '//server/share',
    '///a',
    '\\\\server\\share',
    '/a\\..\\b',
    '/a/%2e%2e/b',
    '/100%',
    '/a\u0000.md',
    '/a\nb',
    '/a\tb',
    '/a\u200b/.ssh',
    '/a\u2028b',
    '/a\u202egpj.exe',
    `/${long(4_096)}`,
  ])('cannot be read in %j', (path) => {
    expect(normalPath(path)).toBeUndefined()
  })
})
