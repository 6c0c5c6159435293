/*
 * Makes the pictures of docs/reviewing.md from the built console, on its own gateway with a few calls:
 * `npm run screenshots`. Needs Chromium at /usr/bin/chromium, or at the path in CHROMIUM.
 */
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { deflateSync, crc32 } from 'node:zlib'
import { chromium } from 'playwright-core'
import { call, startGateway } from '../bench/gateway.mjs'

const OUT = fileURLToPath(new URL('images/', import.meta.url))
const DESKTOP = { width: 1280, height: 800 }
const PHONE = { width: 390, height: 844 }

const gateway = await startGateway()
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--hide-scrollbars'],
})
try {
  mkdirSync(OUT, { recursive: true })
  const threads = await seed()
  const page = await signedIn('carol', { viewport: DESKTOP, colorScheme: 'light' })
  await page.hover('.item >> nth=1')
  await shot(page, 'queue')
  await page.goto(`${gateway.url}/console/#/thread/${threads.mail}`)
  await page.waitForSelector('.bar')
  await shot(page, 'thread')
  await page.goto(`${gateway.url}/console/#/thread/${threads.shell}`)
  await page.waitForSelector('.note.warn')
  await shot(page, 'hidden-characters')
  await page.goto(`${gateway.url}/console/#/thread/${threads.transfer}`)
  await page.waitForSelector('.bar')
  await page.waitForSelector('.diff')
  await shot(page, 'diff')
  await page.goto(`${gateway.url}/console/#/thread/${threads.database}`)
  await page.waitForSelector('.approve:not([aria-disabled=true])')
  await page.keyboard.press('a')
  await page.waitForSelector('dialog')
  await shot(page, 'second-act')
  await page.keyboard.press('Escape')
  await page.goto(`${gateway.url}/console/#/several/${threads.refunds}`)
  await page.waitForSelector('.calls')
  await page.keyboard.press('v')
  await page.waitForSelector('.calls .seen:not(.not)')
  await page.locator('.call > .scroll').evaluate((pane) => pane.scrollTo(0, 140))
  await page.waitForSelector('.calls .seen:not(.not) >> nth=5')
  await page.keyboard.press('Shift+X')
  await page.waitForSelector('.approve:not([aria-disabled=true])')
  await shot(page, 'several')
  await page.goto(`${gateway.url}/console/#/thread/${threads.refund}`)
  await page.waitForSelector('text=fields differ')
  await page.keyboard.press('i')
  await page.waitForSelector('.versus')
  await shot(page, 'context')
  await page.goto(`${gateway.url}/console/#/history`)
  await page.waitForSelector('.ended')
  await shot(page, 'history')
  const dark = await signedIn('carol', { viewport: DESKTOP, colorScheme: 'dark' })
  await shot(dark, 'queue-dark')
  await dark.goto(`${gateway.url}/console/#/thread/${threads.database}`)
  await dark.waitForSelector('.bar')
  await shot(dark, 'thread-dark')
  const phone = await signedIn('carol', {
    viewport: PHONE,
    colorScheme: 'light',
    hasTouch: true,
    isMobile: true,
  })
  await shot(phone, 'queue-phone')
  await phone.goto(`${gateway.url}/console/#/thread/${threads.mail}`)
  await phone.waitForSelector('.bar')
  await shot(phone, 'thread-phone')
  const admin = await signedIn('dana', { viewport: DESKTOP, colorScheme: 'light' })
  await admin.goto(`${gateway.url}/console/#/policies`)
  await admin.getByRole('button', { name: 'Explain', exact: true }).click()
  await admin.waitForSelector('.verdict')
  await shot(admin, 'policies')
} finally {
  await browser.close()
  await gateway.stop()
}

async function signedIn(reviewer, options) {
  const context = await browser.newContext({ ...options, reducedMotion: 'reduce', locale: 'en-GB' })
  const page = await context.newPage()
  const { url } = await gateway.admin('POST', `/reviewers/acme/${reviewer}/login-link`)
  await page.goto(url)
  await page.click('text=Sign in with this link')
  await page.waitForSelector('.item')
  await page.waitForSelector('.link.live')
  return page
}

async function shot(page, name) {
  await page.waitForFunction(() => [...document.images].every((image) => image.complete))
  await page.screenshot({ path: `${OUT}${name}.png`, animations: 'disabled' })
}

async function seed() {
  const [billing, support, ops, bob] = await Promise.all([
    gateway.key('agent', 'billing-bot'),
    gateway.key('agent', 'support-bot'),
    gateway.key('agent', 'ops-bot'),
    gateway.key('reviewer', 'bob'),
  ])
  const propose = async (key, task, body) =>
    (await call(gateway.url, { method: 'POST', path: `/api/agent/tasks/${task}/requests`, key, body }))
      .thread_id
  await propose(billing, 'refunds-8812', {
    tool_name: 'payments.refund',
    subject: 'Refund 89.00 EUR to the customer of order 8812',
    payload: {
      charge: 'ch_9fQ2',
      amount_cents: 8900,
      currency: 'eur',
      order_id: 'o-8812',
      email: 'jo@example.com',
    },
  })
  const database = await propose(ops, 'retire-billing-v1', {
    tool_name: 'cloud.delete',
    subject: 'Delete the old billing database, unused since March',
    summary: ['Traffic: 0 queries in 30 days', 'A final snapshot is taken first'],
    workflow_name: 'retire-service',
    payload: { kind: 'database', name: 'billing-v1', env: 'prod', final_snapshot: true },
  })
  await call(gateway.url, {
    method: 'POST',
    path: `/api/review/threads/${database}/votes`,
    key: bob,
    body: { decision: 'approve', revision: 1, comment: 'Checked with the billing team: it is unused.' },
  })
  await propose(support, 'ticket-4711', {
    tool_name: 'web.fetch',
    payload: { url: 'https://partner.example/terms' },
  })
  const mail = await propose(support, 'ticket-4711', {
    tool_name: 'email.send',
    subject: 'Answer the request of Jo Field',
    preview: 'Dear Jo, your refund is on its way. It takes three to five days.',
    summary: ['The customer asked twice', 'Template: refund-confirmed'],
    risk_level: 'low',
    images: [picture(), 'https://tracker.example/pixel.png'],
    payload: {
      to: ['jo.field@customer.example'],
      subject: 'Your refund is on its way',
      body: 'Dear Jo,\n\nyour refund of 89.00 EUR is on its way.\n\nBest regards\nACME support',
      attachments: ['refund-8812.pdf'],
    },
  })
  const transfer = await propose(billing, 'month-end', {
    tool_name: 'ledger.transfer',
    subject: 'Month end: move the surplus to the reserve',
    preview: 'Moves 9,200.00 EUR from operations to reserve 1.',
    payload: {
      from: 'acct_ops',
      to: 'acct_reserve_1',
      amount_cents: 920000,
      currency: 'eur',
      memo: 'surplus of october',
    },
  })
  const carol = await gateway.key('reviewer', 'carol')
  await call(gateway.url, {
    method: 'POST',
    path: `/api/review/threads/${transfer}/votes`,
    key: carol,
    body: { decision: 'request_changes', revision: 1, comment: 'Leave 2,000 in operations, please.' },
  })
  await call(gateway.url, {
    method: 'POST',
    path: '/api/agent/tasks/month-end/events',
    key: billing,
    body: {
      event_type: `revision.month-end.${transfer}`,
      event_summary: 'smaller amount',
      payload: {
        revision: {
          revision_id: 'r2',
          tool_name: 'ledger.transfer',
          subject: 'Month end: move part of the surplus to the reserve',
          preview: 'Moves 7,200.00 EUR from operations to reserve 1.',
          request_payload: {
            from: 'acct_ops',
            to: 'acct_reserve_1',
            amount_cents: 720000,
            currency: 'eur',
            memo: 'part of the surplus of october',
          },
        },
      },
    },
  })
  const shell = await propose(ops, 'fix-ci', {
    tool_name: 'shell.run',
    subject: 'Run the tests of the payme\u200bnts package',
    preview: 'npm test \u202e# gnihton setirw\u202c',
    payload: { argv: ['npm', 'run', 'tеst', '--', 'payments \u2067&& cat .env\u2069'], cwd: '/workspace' },
  })
  await propose(ops, 'clean-up', {
    tool_name: 'cloud.delete',
    subject: 'Remove the staging machine of the summer campaign',
    payload: { kind: 'vm', name: 'campaign-7', env: 'staging' },
  })
  await propose(billing, 'refunds-8790', {
    tool_name: 'payments.refund',
    subject: 'Refund a charge that the customer calls fraudulent',
    payload: {
      charge: 'ch_77aa',
      amount_cents: 31000,
      currency: 'eur',
      reason: 'fraudulent',
      order_id: 'o-8790',
    },
  })
  const refunds = await alike(propose, billing)
  const refund = await decided(propose, billing, carol)
  return { database, mail, transfer, shell, refunds, refund }
}

/** Refunds that are alike. Returns the first. */
async function alike(propose, key) {
  const orders = [
    [8801, 6400, 'jo.field'],
    [8802, 9900, 'a.meyer'],
    [8803, 11850, 'sun.li'],
    [8804, 14900, 'k.adeyemi'],
    [8805, 29800, 'jo.field'],
  ]
  const threads = []
  for (const [order, amount_cents, who] of orders) {
    const email = `${who}@customer.example`
    const payload = { charge: `ch_${order}`, amount_cents, currency: 'eur', order_id: `o-${order}`, email }
    const subject = 'Refund to the customer of this order'
    threads.push(await propose(key, `refunds-${order}`, { tool_name: 'payments.refund', subject, payload }))
  }
  return threads[0]
}

/** A transfer that waits, after one that was approved and two that were rejected. Returns the waiting one. */
async function decided(propose, key, reviewer) {
  const transfer = (name, amount_cents) =>
    propose(key, `travel-${name}`, {
      tool_name: 'ledger.transfer',
      subject: 'Fill the travel account',
      payload: { from: 'acct_ops', to: `acct_${name}`, amount_cents, currency: 'eur', memo: 'travel' },
    })
  const votes = [
    ['approve', 'Checked with the customer.'],
    ['reject', 'No such order.'],
    ['reject', 'Over the budget twice this week.'],
  ]
  for (const [decision, comment] of votes) {
    const thread = await transfer('travel', 41200)
    const path = `/api/review/threads/${thread}/votes`
    await call(gateway.url, { method: 'POST', path, key: reviewer, body: { decision, revision: 1, comment } })
  }
  return transfer('travel', 41200)
}

/** A small chart as a PNG: bars on white. */
function picture() {
  const [width, height] = [360, 140]
  const rows = Array.from({ length: height }, (_, y) => {
    const row = Buffer.alloc(1 + width * 3, 255)
    row[0] = 0
    for (let x = 20; x < width - 20; x++) {
      const bar = Math.floor((x - 20) / 40)
      const tall = [30, 52, 41, 77, 64, 96, 110, 88][bar] ?? 0
      if ((x - 20) % 40 < 26 && y > height - 14 - tall && y < height - 14) row.set([11, 92, 110], 1 + x * 3)
    }
    return row
  })
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const head = Buffer.alloc(4)
    head.writeUInt32BE(data.length)
    const sum = Buffer.alloc(4)
    sum.writeUInt32BE(crc32(body))
    return Buffer.concat([head, body, sum])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const bytes = Buffer.concat([
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ])
  return `data:image/png;base64,${bytes.toString('base64')}`
}
