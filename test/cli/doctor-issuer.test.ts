import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { lookAtIssuer } from '../../src/cli/operate/doctor/issuer.ts'
import { loadConfig } from '../../src/settings/config.ts'

/** The doctor reads the metadata of an OpenID Connect issuer. */

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

type Metadata = Record<string, unknown>

const without = (metadata: Metadata, ...names: string[]): Metadata =>
  Object.fromEntries(Object.entries(metadata).filter(([name]) => !names.includes(name)))

/** An issuer on the loopback whose metadata are good, except for the changes of `change`. */
async function issuer(change: (good: Metadata) => Metadata | string, status = 200): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url !== '/staff/.well-known/openid-configuration') return void response.writeHead(404).end()
    const answer = change(good)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => new Promise((resolve) => server.close(resolve)))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/staff`
  const good: Metadata = {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    jwks_uri: `${url}/keys`,
    response_types_supported: ['code', 'id_token'],
    code_challenge_methods_supported: ['plain', 'S256'],
    scopes_supported: ['openid', 'email', 'profile'],
    claims_supported: ['sub', 'email', 'realm_access'],
  }
  return url
}

async function found(url: string, ...args: string[]): Promise<string[]> {
  const flags = ['--oidc-issuer', url, '--oidc-client-id', 'countersign', ...args]
  const { config } = loadConfig({ args: flags, env: {}, parseYaml: () => ({}) })
  return (await lookAtIssuer(config)).map(({ level, check, what }) => `${level} ${check}: ${what}`)
}

describe('the doctor and the OpenID Connect issuer', () => {
  it('accepts metadata that fit the settings, and does not require optional lists', async () => {
    const groups = ['--oidc-groups-claim', 'realm_access.roles']
    const full = await issuer((good) => good)
    expect(await found(full, ...groups)).toEqual([`ok sign-in: the metadata of ${full} fits the settings`])
    const sparse = await issuer((good) => without(good, 'scopes_supported', 'claims_supported'))
    expect(await found(sparse, ...groups)).toEqual([
      `ok sign-in: the metadata of ${sparse} fits the settings`,
    ])
  })

  it('does not ask when no issuer is set', async () => {
    const { config } = loadConfig({ args: [], env: {}, parseYaml: () => ({}) })
    expect(await lookAtIssuer(config)).toEqual([])
  })

  it.each<[string, (good: Metadata) => Metadata, string[], RegExp]>([
    [
      'another issuer',
      (good) => ({ ...good, issuer: 'https://login.example/other' }),
      [],
      /^error sign-in: the provider names itself "https:\/\/login\.example\/other", but oidc_issuer is "http:/,
    ],
    [
      'no issuer',
      (good) => without(good, 'issuer'),
      [],
      /^error sign-in: the provider names itself nothing, /,
    ],
    ['no endpoint', (good) => without(good, 'token_endpoint'), [], /^error .* has no `token_endpoint`$/],
    ['no keys', (good) => ({ ...good, jwks_uri: 7 }), [], /^error .* has no `jwks_uri`$/],
    [
      'PKCE without S256',
      (good) => ({ ...good, code_challenge_methods_supported: ['plain'] }),
      [],
      /^error .* does not support PKCE with S256$/,
    ],
    [
      'no word of PKCE',
      (good) => without(good, 'code_challenge_methods_supported'),
      [],
      /^warning .* does not report support for PKCE$/,
    ],
    [
      'no code flow',
      (good) => ({ ...good, response_types_supported: ['id_token'] }),
      [],
      /^error .* does not support the response type `code`$/,
    ],
    [
      'no such scope',
      (good) => ({ ...good, scopes_supported: ['openid'] }),
      ['--oidc-scopes', 'openid groups'],
      /^warning .* scope `groups` of oidc_scopes$/,
    ],
    [
      'no groups claim',
      (good) => good,
      ['--oidc-groups-claim', 'groups'],
      /^warning .* does not list the claim `groups` of oidc_groups_claim in claims_supported$/,
    ],
    [
      'no claim for reviewers',
      (good) => ({ ...good, claims_supported: ['sub'] }),
      ['--oidc-reviewer-claim', 'email'],
      /^warning .* the claim `email` of oidc_reviewer_claim /,
    ],
  ])('and finds %s', async (_, change, args, line) => {
    expect(await found(await issuer(change), ...args)).toEqual([expect.stringMatching(line)])
  })

  it.each([
    ['an error', 500, '{}'],
    ['no JSON', 200, '<html>'],
    ['a list', 200, '[]'],
  ])('reports an answer that is %s', async (_, status, text) => {
    expect(await found(await issuer(() => text, status))).toEqual([
      expect.stringMatching(new RegExp(`^error sign-in: .* answers ${status} without metadata$`)),
    ])
  })

  it('reports an issuer that does not answer', async () => {
    const url = await issuer((good) => good)
    for (const close of closing.splice(0)) await close()
    expect(await found(url)).toEqual([
      expect.stringMatching(/^warning sign-in: .* does not answer: .*ECONNREFUSED/),
    ])
  })
})
