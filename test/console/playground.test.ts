import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { INSTALL_MS } from '../debian.ts'
import { held } from '../gateway-fixture.ts'
import { axe, DESKTOP, expectNoSidewaysScroll, openConsole, visit } from './browser.ts'
import { console_, consoleWorld } from './console-world.ts'

/** The playground in Chromium: the evaluator may compile code and nothing else, and the page may still compile none. */

const NARROW = { width: 390, height: 844 }

let ann: Page

consoleWorld()
beforeAll(async () => {
  ann = await console_.signedIn({ reviewer: 'ann' })
}, INSTALL_MS)

const editor = (page: Page): ReturnType<Page['getByLabel']> => page.getByLabel('Text of the file')
const callOf = (page: Page): ReturnType<Page['getByRole']> => page.getByRole('textbox', { name: 'Call' })
const decided = (page: Page, verdict: string): Promise<void> =>
  page.locator(`.decision .line .verdict.${verdict}`).waitFor()

async function open(page: Page, link: string): Promise<void> {
  await visit(page, console_.world, `playground${link}`)
  const recipe = /recipe=(.+)/.exec(link)?.[1] ?? ''
  if (link !== '') await expect.poll(() => page.getByLabel('Recipe').inputValue()).toBe(recipe)
  await page
    .getByText(/Tests passed: |No test ran/)
    .first()
    .waitFor()
}

/** Takes what the browser says about refused acts out of the misdeeds, once it has said so of each of them. */
async function takeRefusals(count: number): Promise<void> {
  const isRefusal = (text: string): boolean =>
    /^CSP |violates the following|This document requires/.test(text)
  const announced = (): number => console_.misdeeds.filter((one) => one.startsWith('CSP ')).length
  await expect.poll(announced).toBe(count)
  console_.misdeeds.splice(0, Infinity, ...console_.misdeeds.filter((one) => !isRefusal(one)))
}

describe('the playground', () => {
  it('opens from the policies page, and Escape leads back', async () => {
    await visit(ann, console_.world, 'policies')
    await ann.getByRole('link', { name: 'Edit a bundle in the playground' }).click()
    await ann.getByRole('heading', { name: 'Playground' }).waitFor()
    await decided(ann, 'allow')
    expect(await ann.title()).toContain('Playground')
    await ann.keyboard.press('Escape')
    await ann.getByRole('heading', { name: 'Policies' }).waitFor()
  })

  it('opens a recipe by link, and decides again at each change of the call', async () => {
    await open(ann, '?recipe=two-groups')
    expect(await ann.getByLabel('Recipe').inputValue()).toBe('two-groups')
    await ann.getByLabel('Recipe').selectOption('spending-limit')
    await ann.getByText('Tests passed: 4 of 4.').first().waitFor()
    await callOf(ann).fill('{"tool_name":"payments.refund","payload":{"charge":"ch_1","amount":5001}}')
    await decided(ann, 'review')
    await ann.getByText('refund-large · rules/refund.yaml:7').waitFor()
    await callOf(ann).fill('{"tool_name":')
    await ann.getByText('No decision:').waitFor()
  })

  it('says which test fails and where a rule does not check, and jumps there', async () => {
    await open(ann, '?recipe=spending-limit')
    const text = await editor(ann).inputValue()
    await editor(ann).fill(text.replace('{ over: 5000 }', '{ over: 6000 }'))
    await ann.getByText('Tests passed: 3 of 4.').first().waitFor()
    await ann.locator('.findings').getByText('test-failed').waitFor()
    await editor(ann).fill(text.replace('at_most: 5000 }', 'at_mots: 5000 }'))
    await ann.getByText('the bundle does not load').waitFor()
    await ann.getByLabel('File', { exact: true }).selectOption('routing.yaml')
    await ann.getByRole('button', { name: 'rules/refund.yaml:5' }).first().click()
    await ann.waitForFunction(() => {
      const field = document.activeElement as HTMLTextAreaElement
      return field.value?.slice(field.selectionStart, field.selectionEnd).includes('at_mots')
    })
    expect(await ann.getByLabel('File', { exact: true }).inputValue()).toBe('rules/refund.yaml')
  })

  it('asks before a link replaces unsaved changes', async () => {
    await open(ann, '?recipe=two-groups')
    await open(ann, '?recipe=spending-limit')
    const { questions } = console_
    questions.length = 0
    await open(ann, '?recipe=two-groups')
    expect(questions).toEqual([])
    await callOf(ann).fill('{"tool_name":"mine"}')
    await open(ann, '?recipe=spending-limit')
    expect(questions).toEqual([expect.stringContaining('Replace your changes')])
  })

  it('keeps its work while the reviewer visits the queue', async () => {
    await open(ann, '?recipe=who-may-what')
    await callOf(ann).fill('{"tool_name":"no.such"}')
    await decided(ann, 'reject')
    await visit(ann, console_.world, 'queue')
    await ann.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
    await open(ann, '')
    expect(await callOf(ann).inputValue()).toBe('{"tool_name":"no.such"}')
    await decided(ann, 'reject')
  })

  it('shares bundle and call in the fragment, and sends neither to a server', async () => {
    const sent: string[] = []
    ann.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
    await open(ann, '?recipe=spending-limit')
    await editor(ann).fill(`# STAYS-HERE\n${await editor(ann).inputValue()}`)
    await callOf(ann).fill('{"tool_name":"stays.here"}')
    await decided(ann, 'reject')
    await ann.getByRole('button', { name: 'Share as a link' }).click()
    await ann.getByText('The link is in the address bar').waitFor()
    const { hash } = new URL(ann.url())
    expect(hash).toMatch(/^#\/playground\?bundle=[\w-]+$/)
    expect(sent.filter((one) => /stays.here|bundle=/i.test(one))).toEqual([])
    const copy = await console_.signedIn({ reviewer: 'ben' })
    await open(copy, hash.slice('#/playground'.length))
    expect(await editor(copy).inputValue()).toContain('# STAYS-HERE')
    expect(await callOf(copy).inputValue()).toBe('{"tool_name":"stays.here"}')
    await decided(copy, 'reject')
    await copy.close()
  })

  it.each([
    ['on a phone', { viewport: NARROW }],
    ['in the dark', { viewport: DESKTOP, dark: true }],
  ])('works completely and accessibly %s', async (_, look) => {
    const page = await console_.signedIn({ reviewer: 'ann', ...look })
    await open(page, '?recipe=spending-limit')
    await callOf(page).fill('{"tool_name":"payments.refund","payload":{"charge":"ch_1","amount":5001}}')
    await decided(page, 'review')
    await expectNoSidewaysScroll(page)
    expect(await axe(page)).toEqual([])
    await page.close()
  })

  it.each([
    ['its script', /playground-page-/, 'The playground did not load.'],
    ['the evaluator', /evaluator-/, 'The evaluator did not load.'],
  ])('reports that %s is missing, as after an upgrade of the gateway', async (_, file, words) => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    await page.context().route(file, (route) => route.fulfill({ status: 404 }))
    await visit(page, console_.world, 'playground')
    await page.getByText(words).waitFor()
    await page.close()
  })
})

describe('the evaluator', () => {
  it('compiles code, but reaches no network, no cookie and no other script', async () => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    await open(page, '?recipe=spending-limit')
    const [worker] = page.workers()
    const tried = await worker?.evaluate(async () => {
      // what the tools of the browser evaluate may compile code: this is the worker's own turn
      await new Promise((resolve) => setTimeout(resolve, 0))
      const scope = globalThis as unknown as Record<string, unknown>
      const refused: string[] = []
      addEventListener('securitypolicyviolation', ({ effectiveDirective }) =>
        refused.push(effectiveDirective),
      )
      const outcomeOf = (act: () => Promise<unknown>): Promise<string> =>
        act().then(
          () => 'done',
          (error: unknown) => (error as Error).name,
        )
      const compile = (text: string): (() => unknown) => Reflect.construct(Function, [text]) as () => unknown
      return {
        compiles: compile('return 6 * 7')(),
        fetch: await outcomeOf(() => fetch('/livez')),
        script: await outcomeOf(() => compile('return import("./other.js")')() as Promise<unknown>),
        socket: await outcomeOf(
          () =>
            new Promise((resolve, reject) => {
              const socket = new WebSocket(location.origin.replace('http', 'ws'))
              socket.onopen = resolve
              socket.onerror = () => reject(new TypeError('refused'))
            }),
        ),
        refused,
        within: [
          'document',
          'localStorage',
          'sessionStorage',
          'cookieStore',
          'BroadcastChannel',
          'indexedDB',
          'caches',
          'webkitRequestFileSystem',
          'webkitRequestFileSystemSync',
        ].filter((name) => name in scope),
        shared: ['storage', 'locks', 'serviceWorker'].filter((name) => name in navigator),
      }
    })
    expect(tried).toEqual({
      compiles: 42,
      fetch: 'TypeError',
      script: 'TypeError',
      socket: 'TypeError',
      refused: ['connect-src', 'script-src-elem', 'connect-src'],
      within: [],
      shared: [],
    })
    await page.close()
  })

  it('is the only code that its page can start: no text becomes code, markup or another worker', async () => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    await open(page, '?recipe=spending-limit')
    const tried = await page.evaluate(async () => {
      // as above
      await new Promise((resolve) => setTimeout(resolve, 0))
      interface Policies {
        createPolicy(name: string, rules: object): unknown
      }
      const { trustedTypes } = globalThis as unknown as { trustedTypes: Policies }
      const nameOf = (act: () => unknown): string => {
        try {
          act()
          return 'done'
        } catch (error) {
          return (error as Error).name
        }
      }
      return {
        code: nameOf(() => Reflect.construct(Function, ['return 1'])),
        markup: nameOf(() => (document.createElement('p').innerHTML = '<b>x</b>')),
        worker: nameOf(() => new Worker('/console/assets/other.js')),
        twice: nameOf(() => trustedTypes.createPolicy('evaluator', { createHTML: (text: string) => text })),
        other: nameOf(() => trustedTypes.createPolicy('other', { createHTML: (text: string) => text })),
      }
    })
    expect(tried).toEqual({
      code: 'EvalError',
      markup: 'TypeError',
      worker: 'TypeError',
      twice: 'TypeError',
      other: 'TypeError',
    })
    await takeRefusals(5)
    await page.close()
  })
})

describe('a call in the playground', () => {
  it(
    'opens with the bundle in force, from the context of the call',
    async () => {
      const own = await openConsole({
        files: {
          'directory.yaml': `tenants:
  acme:
    agents: { bot: { owners: [yan] } }
    reviewers:
      yan: { groups: [desk, leads, board, audit] }
      ann: { groups: [desk, leads, board, audit] }
      ben: { groups: [desk, leads, board, audit] }
`,
        },
      })
      const one = await held(await own.world.agent())
      const page = await own.signedIn({ reviewer: 'ann' })
      await own.show(page, one)
      await page.getByRole('link', { name: 'Try it in the playground' }).click()
      await decided(page, 'review')
      expect(JSON.parse(await callOf(page).inputValue())).toMatchObject({
        agent: 'acme/bot',
        tool_name: 'pay',
        payload: one.payload,
      })
      expect(await page.getByLabel('File', { exact: true }).locator('option').allInnerTexts()).toContain(
        'rules/pay.yaml',
      )
      await own.close()
      expect(own.misdeeds).toEqual([])
    },
    INSTALL_MS,
  )

  it('stays closed for a bundle with other tenants, and says so', async () => {
    const one = await held(await console_.world.agent())
    await visit(ann, console_.world, `playground?thread=${one.thread}`)
    await ann.getByText('contains no readable bundle').waitFor()
  })
})
