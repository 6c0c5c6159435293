import { actionHash, canonicalJson } from './canonical-json.ts'
import { ArgumentsChanged } from './errors.ts'
import type { Payload } from './types.ts'

/** The data with which any process continues a proposed call (docs/agent-side.md#handle). */
export interface Handle {
  readonly v: 1
  /** `approved`: a rule approved the call, so it need not pause for reviewers. */
  readonly status: 'pending_review' | 'approved' | 'allow'
  readonly task_id: string
  readonly tool_name: string
  readonly nonce: string
  readonly action_hash: string
  readonly again?: number
  readonly thread_id?: string
  readonly payload?: Payload
}

const LARGEST_BYTES = 1_024
const isText = (value: unknown): boolean => typeof value === 'string'

/** The checks of the members. A member whose check accepts undefined may be absent. */
const MEMBERS: Readonly<Record<keyof Handle, (value: unknown, status: unknown) => boolean>> = {
  v: (value) => value === 1,
  status: (value) => ['pending_review', 'approved', 'allow'].includes(value as string),
  task_id: isText,
  tool_name: isText,
  nonce: isText,
  action_hash: (value) => isText(value) && /^[0-9a-f]{64}$/.test(value as string),
  again: (value) => value === undefined || (Number.isSafeInteger(value) && (value as number) >= 1),
  thread_id: (value, status) => (status === 'allow' ? value === undefined : isText(value)),
  payload: (value) =>
    value === undefined || (typeof value === 'object' && value !== null && !Array.isArray(value)),
}

/**
 * Removes the payload from a handle above 1 kB. The caller then passes the payload to `resume`.
 *
 * @throws TypeError when the handle is above 1 kB nevertheless
 */
export function sized(handle: Handle): Handle {
  if (bytesOf(handle) <= LARGEST_BYTES) return handle
  const { payload: _, ...small } = handle
  if (bytesOf(small) <= LARGEST_BYTES) return small
  throw new TypeError(`a handle above ${LARGEST_BYTES} bytes: use a shorter \`callId\``)
}

const bytesOf = (handle: Handle): number =>
  new TextEncoder().encode(canonicalJson(handle as unknown as Payload)).length

/** @throws TypeError for any other value; the message names the member */
export function checkedHandle(value: unknown): Handle {
  if (typeof value !== 'object' || value === null) throw new TypeError('not a handle: it is no object')
  const given = value as Readonly<Record<string, unknown>>
  const names = new Set([...Object.keys(MEMBERS), ...Object.keys(given)])
  for (const name of names)
    if (!Object.hasOwn(MEMBERS, name) || !MEMBERS[name as keyof Handle](given[name], given['status']))
      throw new TypeError(`not a handle: \`${name}\` is not as docs/agent-side.md has it`)
  const copy = JSON.parse(canonicalJson(given as Payload)) as Handle
  if (bytesOf(copy) > LARGEST_BYTES) throw new TypeError(`not a handle: above ${LARGEST_BYTES} bytes`)
  return copy
}

/** @throws ArgumentsChanged when the payload has another action hash than the handle */
export async function checkHash(handle: Handle, payload: Payload): Promise<void> {
  const { task_id, tool_name, nonce, again, thread_id, action_hash } = handle
  const which = again === undefined ? { nonce } : { nonce, again }
  if ((await actionHash({ task_id, tool_name, payload, ...which })) === action_hash) return
  throw new ArgumentsChanged('these are not the arguments that were proposed', { thread_id })
}
