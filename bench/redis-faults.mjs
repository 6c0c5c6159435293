/*
 * Part of redis.mjs: kills and freezes Redis under load. This part measures the latest answer, and counts the answers
 * that evidence contradicts. Every call has its own task, so that the evidence identifies the call.
 */
import { leafHash } from '../dist/domain/digest.js'
import { call, startGateway } from './gateway.mjs'
import { load, requestBytes } from './load.mjs'
import { startRedis } from './redis-server.mjs'

const BEFORE_MS = 2_000
const AFTER_MS = 4_000
const LATE_BY = 100
const transfer = (amount_cents) => ({
  tool_name: 'ledger.transfer',
  payload: { from: 'acct_ops', to: 'acct_travel', amount_cents, currency: 'eur', memo: 'train tickets' },
})
const ALLOWED = transfer(2_500)
const HELD = transfer(25_000)

const FAULTS = {
  'killed (SIGKILL), started again': { strike: (redis) => redis.kill(), mend: (redis) => redis.start() },
  'frozen (SIGSTOP), woken again': {
    strike: (redis) => redis.signal('SIGSTOP'),
    mend: (redis) => redis.signal('SIGCONT'),
  },
}

export async function measureFaults({ deadline, connections }) {
  const rows = {}
  for (const [name, fault] of Object.entries(FAULTS)) rows[name] = await suffer(fault, deadline, connections)
  const measures = Object.keys(Object.values(rows)[0])
  console.table(
    Object.fromEntries(
      measures.map((one) => [
        one,
        Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, row[one]])),
      ]),
    ),
  )
  const all = Object.values(rows)
  const late = Math.max(...all.map((row) => row['latest, ms beyond the deadline']))
  const unbacked = all.reduce(
    (sum, row) => sum + row['200 without evidence'] + row['refused, yet in evidence'],
    0,
  )
  console.log(
    `latest answer <= deadline of ${deadline} ms + ${LATE_BY} ms: ${late <= LATE_BY ? 'met' : 'NOT MET'}`,
  )
  console.log(
    `answers that evidence contradicts: ${unbacked} (goal: 0): ${unbacked === 0 ? 'met' : 'NOT MET'}`,
  )
}

async function suffer({ strike, mend }, deadline, connections) {
  const redis = await startRedis()
  const gateway = await startGateway({
    store: redis.url,
    settings: ['--store-deadline', String(deadline), '--log-level', 'silent'],
  })
  const key = await gateway.key('agent', 'demo-agent')
  const { thread_id } = await call(gateway.url, {
    method: 'POST',
    path: '/api/agent/tasks/first/requests',
    key,
    body: HELD,
  })
  const poll = requestBytes(gateway.url, {
    method: 'GET',
    path: `/api/agent/decisions?thread_id=${thread_id}`,
    key,
  })
  const tasks = new Map()
  let count = 0
  const next = () => {
    const task = `task-${count++}`
    if (count % 4 === 0) return poll
    const body = count % 4 === 1 ? HELD : ALLOWED
    const bytes = requestBytes(gateway.url, { path: `/api/agent/tasks/${task}/requests`, key, body })
    tasks.set(bytes, task)
    return bytes
  }
  const answers = []
  const onAnswer = ({ status, answer, bytes, sentAt, ms }) => {
    const task = tasks.get(bytes)
    tasks.delete(bytes)
    const receipt = status === 200 ? /^countersign-evidence: (\d+):(\S+)\r$/m.exec(answer) : null
    const code = status === 200 ? '' : /"code":"(\w+)"/.exec(answer)?.[1]
    answers.push({ status, task, ms, at: sentAt + ms, code, receipt: receipt?.slice(1) })
  }
  const fault = Math.max(3_000, deadline * 3)
  const seconds = (BEFORE_MS + fault + AFTER_MS) / 1000
  const done = load(gateway.url, { next, connections, seconds, onAnswer, awake: false })
  await pause(BEFORE_MS)
  await strike(redis)
  const struck = performance.now()
  await pause(fault)
  const mending = performance.now()
  await mend(redis)
  await done
  const evidence = await evidenceOf(redis)
  await gateway.stop()
  await redis.stop()
  return verdict(answers, { struck, mending, deadline, evidence })
}

function verdict(answers, { struck, mending, deadline, evidence }) {
  const { byNumber, tasks } = evidence
  const backed = ({ task, receipt }) => {
    const text = byNumber.get(Number(receipt?.[0]))
    return text !== undefined && leafHash(text) === receipt[1] && JSON.parse(text).task_id === task
  }
  const ok = answers.filter(({ status }) => status === 200)
  const during = ok.filter(({ at }) => at > struck && at < mending)
  const writes = (list) => list.filter(({ task }) => task !== undefined)
  const unknown = answers.filter(({ code }) => code === 'outcome_unknown')
  const refused = answers.filter(({ code }) => code === 'store_unavailable')
  const others = answers.filter(
    ({ status, code }) => status !== 200 && !/^(outcome_unknown|store_unavailable)$/.test(code),
  )
  if (others.length > 0) console.log('unexpected answers:', others.slice(0, 3))
  const back = ok.find(({ at }) => at > mending)?.at
  return {
    answers: answers.length,
    'latest, ms beyond the deadline': Math.round(Math.max(...answers.map(({ ms }) => ms)) - deadline),
    '200 during the fault, decisions': writes(during).length,
    '200 during the fault, polls': during.length - writes(during).length,
    '200 without evidence': writes(ok).filter((one) => !backed(one)).length,
    'refused as unavailable': refused.length,
    'refused, yet in evidence': writes(refused).filter(({ task }) => tasks.has(task)).length,
    'outcome unknown': unknown.length,
    'unknown, in evidence': writes(unknown).filter(({ task }) => tasks.has(task)).length,
    'first 200 after mending, ms': back === undefined ? 'never' : Math.round(back - mending),
  }
}

/** Returns all evidence of the tenant as Redis stores it: records by number, and the tasks in them. */
async function evidenceOf(redis) {
  const entries = await redis.ask('XRANGE', 'cs:{acme}:e', '-', '+')
  const byNumber = new Map(entries.map(([id, fields]) => [Number.parseInt(id, 10), fields[3]]))
  const tasks = new Set([...byNumber.values()].map((text) => JSON.parse(text).task_id))
  return { byNumber, tasks }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
