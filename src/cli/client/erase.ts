import type { ErasureRequest, ErasureView } from '../../contract/erasure.ts'
import { createApi } from './api-client.ts'
import { API_FLAGS, NEEDS_ADMIN_KEY, reachAsAdmin } from './credentials.ts'
import { command } from '../terminal/command.ts'
import { CliFailure, usage } from '../terminal/failure.ts'
import { isConfirmed } from '../terminal/confirm.ts'
import { type Asked, parse } from '../terminal/parse.ts'
import { usageOf } from '../terminal/usage.ts'
import { jsonOf } from '../terminal/visible-text.ts'

export const ERASE = command({
  name: 'erase',
  says: `Erases the values and texts that are kept about a task, a thread, an agent, or a value of a field. It first
    shows what it would delete, and asks. Calls that still wait are withdrawn. Evidence keeps a commitment to what was
    erased, and one record of the erasure.`,
  flags: {
    tenant: { takes: 'TENANT', needed: true, says: 'the tenant whose data it is' },
    task: { takes: 'TASK', says: 'all calls of this task' },
    thread: { takes: 'THREAD', says: 'this thread' },
    agent: { takes: 'AGENT', says: 'all calls of this agent' },
    field: { takes: 'FIELD', says: 'calls with a value in this field, such as payload.customer.email' },
    equals: { takes: 'VALUE', says: 'the value of --field' },
    reason: {
      takes: 'TEXT',
      needed: true,
      says: 'why; kept in evidence as long as the log, so it must not contain the erased data',
    },
    'in-store': {
      says: 'leaves out records that are only in tiles, while these are away; run it again without it later',
    },
    yes: { says: 'does not ask' },
    ...API_FLAGS,
  },
  notes: `${NEEDS_ADMIN_KEY}
Backups that were made before still contain the data.`,
})

/** A search reads the whole log, so it may take minutes. */
const TIMEOUT_MS = 3_600_000

/** `countersign erase`: shows the counts, asks, and erases. */
export async function erase(args: readonly string[]): Promise<void> {
  const { values } = parse(ERASE, args)
  const body = { ...requestOf(values), ...(values['in-store'] && { in_store: true }) }
  const api = createApi(reachAsAdmin(values.url))
  if (!values.yes) {
    const found = await api.erase({ body: { ...body, preview: true }, timeoutMs: TIMEOUT_MS })
    if (found.records + found.threads === 0) throw new CliFailure('the gateway has no data of this selection')
    console.error(`this erases ${textOf(found)}`)
    if (!(await isConfirmed('erase'))) throw new CliFailure('nothing was erased')
  }
  const erased = await api.erase({ body, timeoutMs: TIMEOUT_MS })
  if (values.json) return console.log(jsonOf(erased))
  console.log(`erased ${textOf(erased)}`)
  console.error(
    'backups that were made before still contain the data, as do freed pages of an embedded store until `countersign store compact`',
  )
}

function requestOf(values: Asked<typeof ERASE>['values']): ErasureRequest {
  const { tenant, task, thread, agent, field, equals, reason } = values
  const chosen = [task, thread, agent, field].filter((one) => one !== undefined)
  if (chosen.length !== 1 || (field === undefined) !== (equals === undefined))
    throw usage('name one of --task, --thread, --agent, or --field with --equals', usageOf(ERASE))
  return {
    tenant,
    reason,
    ...(task === undefined ? {} : { task_id: task }),
    ...(thread === undefined ? {} : { thread_id: thread }),
    ...(agent === undefined ? {} : { agent }),
    ...(field === undefined || equals === undefined ? {} : { field, equals }),
  }
}

function textOf({ records, members, threads, waiting, since, until }: ErasureView): string {
  const [first, last] = [since?.slice(0, 10), until?.slice(0, 10)]
  const days = first === undefined ? '' : first === last ? ` of ${first}` : ` from ${first} to ${last}`
  const held = waiting === 0 ? '' : `, ${waiting} of them waiting`
  return `${counted(members, 'value')} in ${counted(records, 'record')} of evidence${days}, and ${counted(threads, 'thread')}${held}`
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`
