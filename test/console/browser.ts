import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { launchBrowser } from '../chromium.ts'
import { type Held, openWorld, type World, type WorldOptions } from '../gateway-fixture.ts'

/**
 * The console in a real Chromium, on a whole gateway in this process. Every page is watched: a forbidden act of a page
 * fails the file at its end. No test may depend on the fonts of a machine: run them with FONTCONFIG_FILE, a file of
 * fontconfig that has only Noto, or only DejaVu.
 */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** For an event that never happens, not for a slow one. */
const PATIENCE_MS = Number(process.env['PATIENCE'] ?? 60_000)

/** A window for one pane: the list, or a call. */
export const DESKTOP = { width: 1080, height: 800 }
/** A window for two panes: the list, and a call beside it. */
export const WIDE = { width: 1440, height: 900 }
export const PHONE = { width: 360, height: 720 }

export interface Visit {
  readonly reviewer: string
  readonly viewport?: { readonly width: number; readonly height: number }
  readonly dark?: boolean
  /** Whether the next call opens by itself, as it does unless a reviewer turns it off. */
  readonly advance?: boolean
}

export class Console {
  readonly world: World
  readonly #browser: Browser
  readonly #contexts: BrowserContext[] = []
  /** Scripts that ran, requests to other places, violations of the policy, errors: all of them are failures. */
  readonly misdeeds: string[] = []
  /** The questions of the playground that a test answers with yes. */
  readonly questions: string[] = []

  constructor(world: World, browser: Browser) {
    this.world = world
    this.#browser = browser
  }

  /** The page of a thread, until it is there. */
  async show(page: Page, { thread }: Pick<Held, 'thread'>): Promise<void> {
    await visit(page, this.world, `thread/${thread}`)
    await page.getByRole('heading', { name: 'What runs' }).waitFor()
  }

  /** The row of a call in the queue. The list adds new calls when a reviewer asks for them. */
  async inQueue(page: Page, { thread }: Pick<Held, 'thread'>): Promise<Locator> {
    const row = page.locator(`.item a[href="#/thread/${thread}"]`)
    const news = page.locator('.news')
    await row.or(news).first().waitFor()
    if ((await row.count()) === 0) await news.click()
    await row.waitFor()
    return row
  }

  /** A page without a session, in a profile of its own. */
  async open({
    viewport = DESKTOP,
    dark = false,
    advance = false,
  }: Omit<Visit, 'reviewer'> = {}): Promise<Page> {
    const context = await this.#browser.newContext({
      viewport,
      colorScheme: dark ? 'dark' : 'light',
      reducedMotion: 'reduce',
      hasTouch: viewport.width < 500,
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    context.setDefaultTimeout(PATIENCE_MS)
    // a request at the moment when the last route ends would get no answer, so one route remains
    await context.route('**/nobody-asks-for-this', (route) => route.abort())
    this.#contexts.push(context)
    const page = await context.newPage()
    this.#watch(page)
    if (!advance)
      await page.addInitScript(() => {
        if (location.protocol !== 'about:') localStorage.setItem('next call', 'no')
      })
    await page.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => {
        console.error(`CSP ${event.violatedDirective} ${event.blockedURI} ${event.sample}`)
      })
    })
    return page
  }

  #watch(page: Page): void {
    page.on('dialog', (dialog) => {
      if (dialog.message().startsWith('Replace your changes')) {
        this.questions.push(dialog.message())
        void dialog.accept()
        return
      }
      this.misdeeds.push(`a script ran: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('request', (request) => {
      if (!request.url().startsWith(`${this.world.url}/`)) this.misdeeds.push(`asked for ${request.url()}`)
    })
    page.on('pageerror', (error) => this.misdeeds.push(`error: ${error.message}`))
    page.on('console', (message) => {
      const expected = /status of (401|403|409|412|503)|ERR_|Failed to load resource/.test(message.text())
      if (message.type() === 'error' && !expected) this.misdeeds.push(message.text())
    })
    page.on('popup', () => this.misdeeds.push('a window opened'))
  }

  /** A reviewer who signed in by a one-time link and sees the queue. Later calls count as new. */
  async signedIn({ reviewer, ...look }: Visit): Promise<Page> {
    const page = await this.open(look)
    await page.goto(`${this.world.url}/console/#/sign-in/${await this.world.link(reviewer)}`)
    await page.getByRole('button', { name: 'Sign in with this link' }).click()
    await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.locator('section[aria-label="Waiting threads"][aria-busy="false"]').waitFor()
    return page
  }

  async close(): Promise<void> {
    for (const context of this.#contexts) await context.close()
    await this.#browser.close()
    await this.world.close()
  }
}

export async function openConsole(options: WorldOptions = {}): Promise<Console> {
  const [world, browser] = await Promise.all([openWorld(options), launchBrowser()])
  // pages count down by the time of their machine
  world.clock.now = Date.now()
  return new Console(world, browser)
}

/**
 * Opens a page of the console by its address, as a link in a chat would. Between pages of the console, a browser loads
 * no document, and reports the new address before the page draws it. The earlier page is gone when this returns.
 */
export async function visit(page: Page, world: World, hash: string): Promise<void> {
  const there = `${world.url}/console/#/${hash}`
  const [from, to] = [new URL(page.url()), new URL(there)]
  if (from.origin + from.pathname !== to.origin + to.pathname || from.hash === to.hash) {
    await page.goto(there)
    return
  }
  await page.evaluate(
    (address) =>
      new Promise<void>((heard) => {
        addEventListener('hashchange', () => heard(), { once: true })
        location.href = address
      }),
    there,
  )
}

/** The findings of axe on the page as it is now: every rule of axe, WCAG 2.2 AA and good practice. */
export async function axe(page: Page, part = 'html'): Promise<string[]> {
  await page.evaluate(AXE)
  return page.evaluate(async (place) => {
    interface Axe {
      run(
        place: string,
        options: object,
      ): Promise<{
        violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[]
      }>
    }
    const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run(place, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    })
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .map((one) => `${one.html} ${one.failureSummary}`)
          .join(' | ')
          .slice(0, 600)}`,
    )
  }, part)
}

/** Looks at every part of a call, as a reviewer does: from one part that was not seen to the next. */
export async function seeAll(page: Page): Promise<void> {
  const done = page.locator('.approve:not([aria-disabled=true])')
  const next = page.locator('.ready .link-like').first()
  await page.locator('.approve').waitFor()
  for (;;) {
    await done.or(next).first().waitFor()
    if ((await done.count()) > 0) return
    await next
      .evaluate((link: HTMLElement) => link.click(), undefined, { timeout: 1_000 })
      .catch(() => undefined)
    await page.waitForTimeout(300)
  }
}

/**
 * Approves with `a`, and with Enter where the call had to be paged and the focus is on the button. Returns the keys.
 */
export async function approve(page: Page): Promise<string[]> {
  const armed = (): Promise<boolean | undefined> =>
    page.evaluate(() => document.activeElement?.matches('.approve'))
  const keys = (await armed()) ? [] : ['a']
  for (const key of keys) await page.keyboard.press(key)
  if (!(await armed())) return keys
  await page.keyboard.press('Enter')
  return [...keys, 'Enter']
}

/** Everything in the page fits its width: nothing has to be moved sideways to be read. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const [content, window] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ])
  expect(content).toBeLessThanOrEqual(window ?? 0)
}
