import { isAbsolute } from 'node:path'
import { type JsonObject, type JsonValue, isObject } from '../contract/json.ts'
import { LIMITS } from '../contract/limits.ts'
import { parseStrictJson } from '../contract/strict-json.ts'
import { InvalidPayload, type NotExecuted, sha256 } from '@countersign/sdk'
import type { Harness } from './harness.ts'

/** A call that a harness is about to make. */
export interface HeldCall {
  /** The task of the session, with a name that the gateway accepts. */
  readonly task: string
  readonly tool: string
  readonly input: JsonObject
  /** The folder in which the harness runs a command. */
  readonly cwd?: string | undefined
}

/**
 * Reads a call with the gateway's strict scan, because the harness must run exactly the call that reviewers approve.
 *
 * @throws NotExecuted for any other input
 */
export async function readCall(bytes: Uint8Array, { name, event }: Harness): Promise<HeldCall> {
  const said = parsed(bytes)
  if (!isObject(said)) throw refused('the input is not a JSON object')
  const { hook_event_name, session_id, tool_name, tool_input, cwd } = said
  // the answer to any other event would not stop a tool
  if (hook_event_name !== event) throw refused(`this hook is for ${event}, but was called for another event`)
  if (typeof session_id !== 'string' || session_id === '') throw refused('the input names no session')
  if (typeof tool_name !== 'string' || tool_name === '') throw refused('the input names no tool')
  if (!isObject(tool_input)) throw refused('the input of a tool must be an object')
  const call = { task: await taskOf(name, session_id), tool: tool_name, input: tool_input }
  return typeof cwd === 'string' && isAbsolute(cwd) ? { ...call, cwd } : call
}

function parsed(bytes: Uint8Array): JsonValue {
  try {
    return parseStrictJson(bytes, { longTextsIn: 'tool_input' })
  } catch (cause) {
    throw refused((cause as Error).message, cause)
  }
}

const PLAIN = /^[A-Za-z0-9._-]+$/

/**
 * The task of a session, which is short enough for the gateway and different for each session. Plain names have no
 * colon.
 */
async function taskOf(harness: string, session: string): Promise<string> {
  const plain = `${harness}:${session}`
  if (PLAIN.test(session) && plain.length <= LIMITS.TASK_ID_CHARS) return plain
  return `${harness}:sha256:${await sha256(session)}`
}

function refused(why: string, cause?: unknown): NotExecuted {
  return new InvalidPayload(why, { cause })
}
