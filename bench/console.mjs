/*
 * The console in a real Chromium on a gateway of its own: how long until the queue is painted with 5,000 waiting threads, how long until a new
 * thread stands in a queue that is open, and how much JavaScript that takes.
 *
 *   node bench/console.mjs [--threads 5000] [--rounds 5]
 */
import { readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { call, median, startGateway } from './gateway.mjs'

const { values } = parseArgs({
  options: { threads: { type: 'string', default: '5000' }, rounds: { type: 'string', default: '5' } },
})
const THREADS = Number(values.threads)
const ROUNDS = Number(values.rounds)
const IN_FLIGHT = 64

sizes()
const gateway = await startGateway()
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
})
try {
  const key = await gateway.key('agent', 'ops-bot')
  const propose = (number) =>
    call(gateway.url, {
      method: 'POST',
      path: `/api/agent/tasks/bench-${number}/requests`,
      key,
      body: {
        tool_name: 'cloud.delete',
        subject: `Remove machine ${number} of the summer campaign`,
        payload: { kind: 'vm', name: `campaign-${number}`, env: 'staging' },
      },
    })
  const open = await signedIn()
  await arrivals(open, propose, 'an empty queue')
  await fill(propose)
  await paints(open)
  await arrivals(await signedIn(), propose, `${THREADS} threads waiting (in the line of arrivals)`)
} finally {
  await browser.close()
  await gateway.stop()
}

function sizes() {
  const folder = fileURLToPath(new URL('../dist/console/assets/', import.meta.url))
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.js'))) {
    const [plain, gzip, brotli] = ['', '.gz', '.br'].map((suffix) => statSync(folder + name + suffix).size)
    console.log(`${name}: ${plain} bytes, ${gzip} gzip, ${brotli} brotli`)
  }
}

async function fill(propose) {
  let next = 0
  const worker = async () => {
    while (next < THREADS) await propose(next++)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
}

async function signedIn() {
  const page = await (await browser.newContext()).newPage()
  const { url } = await gateway.admin('POST', '/reviewers/acme/carol/login-link')
  await page.goto(url)
  await page.click('text=Sign in with this link')
  await page.waitForSelector('.link.live')
  return page
}

/** From the navigation to the first frame with rows in it; `cold` has nothing in the cache. */
async function paints(page) {
  const cookies = await page.context().cookies()
  const cold = []
  const warm = []
  for (let round = 0; round < ROUNDS; round++) {
    const context = await browser.newContext()
    await context.addCookies(cookies)
    const fresh = await context.newPage()
    await fresh.addInitScript(() => {
      const watcher = new MutationObserver(() => {
        if (!document.querySelector('.row')) return
        watcher.disconnect()
        requestAnimationFrame(() => setTimeout(() => (globalThis.painted = performance.now()), 0))
      })
      watcher.observe(document, { childList: true, subtree: true })
    })
    cold.push(await paintOf(fresh))
    warm.push(await paintOf(fresh))
    await context.close()
  }
  report(`queue painted, ${THREADS} threads, nothing cached`, cold)
  report(`queue painted, ${THREADS} threads, files cached`, warm)
}

async function paintOf(page) {
  await page.goto(`${gateway.url}/console/`)
  await page.waitForFunction(() => globalThis.painted !== undefined)
  return page.evaluate(() => globalThis.painted)
}

/** From the moment the agent's request is sent to the frame that shows the thread; both by the clock of this machine. */
async function arrivals(page, propose, where) {
  const taken = []
  for (let round = 0; round < ROUNDS * 4; round++) {
    const number = `${where.length}-${round}-${Date.now()}`
    const shown = page.evaluate(
      () =>
        new Promise((resolve) => {
          const places = () =>
            document.querySelectorAll('.row').length + (document.querySelector('.arrived a')?.href ?? '')
          const before = places()
          const watcher = new MutationObserver(() => {
            if (places() === before) return
            watcher.disconnect()
            requestAnimationFrame(() =>
              setTimeout(() => resolve(performance.timeOrigin + performance.now()), 0),
            )
          })
          watcher.observe(document.body, { childList: true, subtree: true, attributes: true })
        }),
    )
    await page.evaluate(() => undefined)
    const sent = performance.timeOrigin + performance.now()
    await propose(number)
    taken.push((await shown) - sent)
  }
  report(`a new thread is shown, ${where}`, taken)
}

function report(what, times) {
  const sorted = times.toSorted((a, b) => a - b)
  const [least, middle, most] = [sorted[0], median(sorted), sorted.at(-1)].map((ms) => ms.toFixed(0))
  console.log(`${what}: median ${middle} ms (${least} to ${most}, ${times.length} rounds)`)
}
