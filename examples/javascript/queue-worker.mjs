/*
 * A worker of a queue, which holds no process while reviewers decide.
 *
 *     node queue-worker.mjs add A-7 12500   puts a refund into the queue
 *     node queue-worker.mjs work            works on each job once, and ends
 *
 * Set COUNTERSIGN_URL and COUNTERSIGN_AGENT_KEY. Start `work` by a timer, or by a webhook.
 * Jobs are files in jobs/. You may kill the worker at any point.
 */
import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createGate, NotExecuted } from '@countersign/sdk'

const gate = createGate({ onPending: ({ thread_id }) => console.log('held:', gate.pageOf({ thread_id })) })
const refund = ({ order, amount_cents }) => `refunded ${(amount_cents / 100).toFixed(2)} for ${order}`
const LATER = ['still_pending', 'gateway_unavailable', 'gateway_untrusted', 'gateway_refused']

function save(job) {
  writeFileSync(`jobs/${job.id}.new`, JSON.stringify(job))
  renameSync(`jobs/${job.id}.new`, `jobs/${job.id}.json`)
}

async function work(job) {
  try {
    // the same task and call id find the same review, if the worker was killed before it saved the handle
    job.handle ??= await gate.propose('payments.refund', job.payload, { taskId: job.id, callId: job.id })
    save(job)
    job.result = await gate.resume(job.handle, refund, { maxWaitMs: 0 })
  } catch (error) {
    if (error instanceof NotExecuted && LATER.includes(error.code)) return 'waits'
    // a call that may have run is not tried again: the text says so
    job.result = error.message
  }
  save(job)
  return job.result
}

mkdirSync('jobs', { recursive: true })
const [what, order, cents] = process.argv.slice(2)
if (what === 'add') save({ id: `refund-${randomUUID()}`, payload: { order, amount_cents: Number(cents) } })
else
  for (const name of readdirSync('jobs').filter((one) => one.endsWith('.json'))) {
    const job = JSON.parse(readFileSync(`jobs/${name}`, 'utf8'))
    if (job.result === undefined) console.log(job.payload.order, await work(job))
  }
await gate.settled()
