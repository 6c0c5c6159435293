import { afterEach, describe, expect, it, vi } from 'vitest'
import { warnOfSettings } from '../../src/cli/operate/serve.ts'

/** Warnings of the log at start about settings that have no effect. */
function warned(proxies?: readonly string[]): readonly (readonly unknown[])[] {
  const warn = vi.fn<(...args: unknown[]) => void>()
  warnOfSettings({ warn } as never, { unknown: [], links: [], withoutEffect: [] }, proxies)
  return warn.mock.calls
}

afterEach(() => vi.unstubAllEnvs())

describe('a proxy for outgoing connections', () => {
  it.each(['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'ALL_PROXY'])(
    'is ignored when %s names it, and one line of the log says so',
    (name) => {
      for (const other of [
        'HTTPS_PROXY',
        'HTTP_PROXY',
        'ALL_PROXY',
        'https_proxy',
        'http_proxy',
        'all_proxy',
      ])
        vi.stubEnv(other, undefined)
      vi.stubEnv(name, 'http://proxy.example:3128')
      expect(warned()).toEqual([
        [
          { variables: [name] },
          'a proxy for outgoing connections has no effect: webhooks and sign-in connect directly',
        ],
      ])
    },
  )

  it('is not mentioned when no variable sets one', () => {
    expect(warned([])).toEqual([])
  })
})
