/*
 * The console in a real Chromium, with its own gateway. The benchmark measures the size of the JavaScript, and the time
 * to paint a queue of 5,000 waiting threads. It also measures the time until a new thread appears in an open queue, on
 * the same instance and on another instance.
 *
 * node bench/console.mjs [--threads 5000] [--rounds 5] (redis-server for the part with two instances)
 */
import { readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { call, median, startGateway } from './gateway.mjs'
import { startRedis } from './redis-server.mjs'

const { values } = parseArgs({
  options: { threads: { type: 'string', default: '5000' }, rounds: { type: 'string', default: '5' } },
})
const THREADS = Number(values.threads)
const ROUNDS = Number(values.rounds)
const IN_FLIGHT = 64

sizes()
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
})
try {
  await onOneInstance()
  await onAnotherInstance()
} finally {
  await browser.close()
}

async function onOneInstance() {
  const gateway = await startGateway()
  const propose = proposing(gateway, await gateway.key('agent', 'ops-bot'))
  const open = await signedIn(gateway)
  await arrivals(open, propose, 'an empty queue')
  await fill(propose)
  await paints(gateway, open)
  await arrivals(await signedIn(gateway), propose, `${THREADS} threads waiting (in the line of arrivals)`)
  await gateway.stop()
}

/** Opens the queue at one gateway while the agent uses another gateway with the same Redis. */
async function onAnotherInstance() {
  const redis = await startRedis()
  const [here, there] = [await startGateway({ store: redis.url }), await startGateway({ store: redis.url })]
  const propose = proposing(there, await there.key('agent', 'ops-bot'))
  await arrivals(await signedIn(here), propose, 'asked for at another instance')
  await here.stop()
  await there.stop()
  await redis.stop()
}

function proposing({ url }, key) {
  return (number) =>
    call(url, {
      method: 'POST',
      path: `/api/agent/tasks/bench-${number}/requests`,
      key,
      body: {
        tool_name: 'cloud.delete',
        subject: `Remove machine ${number} of the summer campaign`,
        payload: { kind: 'vm', name: `campaign-${number}`, env: 'staging' },
      },
    })
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

async function signedIn(gateway) {
  const page = await (await browser.newContext()).newPage()
  const { url } = await gateway.admin('POST', '/reviewers/acme/carol/login-link')
  await page.goto(url)
  await page.click('text=Sign in with this link')
  await page.waitForSelector('.link.live')
  return page
}

/** Measures the time from the navigation to the first frame with rows, with an empty cache and with a full cache. */
async function paints(gateway, page) {
  const cookies = await page.context().cookies()
  const secret = await page.evaluate(() => sessionStorage.getItem('secret'))
  const cold = []
  const warm = []
  for (let round = 0; round < ROUNDS; round++) {
    const context = await browser.newContext()
    await context.addCookies(cookies)
    const fresh = await context.newPage()
    await fresh.addInitScript((kept) => {
      sessionStorage.setItem('secret', kept)
      const watcher = new MutationObserver(() => {
        if (!document.querySelector('.row')) return
        watcher.disconnect()
        requestAnimationFrame(() => setTimeout(() => (globalThis.painted = performance.now()), 0))
      })
      watcher.observe(document, { childList: true, subtree: true })
    }, secret)
    cold.push(await paintOf(gateway, fresh))
    warm.push(await paintOf(gateway, fresh))
    await context.close()
  }
  report(`queue painted, ${THREADS} threads, nothing cached`, cold)
  report(`queue painted, ${THREADS} threads, files cached`, warm)
}

async function paintOf(gateway, page) {
  await page.goto(`${gateway.url}/console/`)
  await page.waitForFunction(() => globalThis.painted !== undefined)
  return page.evaluate(() => globalThis.painted)
}

/** Measures the time from the agent's request to the frame that shows the thread, by the clock of this machine. */
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
