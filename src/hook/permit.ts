import { resolve } from 'node:path'
import { type Gate, InvalidPayload, NotExecuted, type ResolvedTool } from '@countersign/sdk'
import { type CallIds, isUndecided, leaveWaiting, withdrawLeft } from '@countersign/sdk/runtime'
import { isObject, type JsonObject } from '../contract/json.ts'
import type { HeldCall } from './call.ts'
import { contractOf } from './contract.ts'
import { changedFile, filesOf, type NamedFile, READING_MS } from './files.ts'
import { DIRECTORY, type HarnessName } from './harness.ts'

export interface PermitParts {
  readonly gate: Gate
  readonly callIds: CallIds
  readonly harness: HarnessName
  /** The prefix that the gateway's name for a tool adds to the harness's name. */
  readonly prefix: string
  /** Maximum time to hold a call for reviewers, ms. */
  readonly maxWaitMs: number
  readonly signal: AbortSignal
  /** Receives a line for the person who set the hook up. */
  readonly note: (line: string) => void
}

/** Time in which the harness may call the tool again after it ended the hook, seconds. */
const GRACE_SECONDS = 120

/** The harness ended the hook, which may be its own time limit. A person's stop is another error. */
export class HookEnded extends Error {
  override readonly name = 'TimeoutError'
}

/**
 * Resolves when the call may run now, once. An equal call continues the review of a call that timed out undecided.
 *
 * @throws NotExecuted in all other cases
 */
export async function permit(parts: PermitParts, call: HeldCall): Promise<void> {
  const { gate, callIds, harness, prefix, maxWaitMs, signal, note } = parts
  const { task, tool, input } = call
  const callId = await callIds.take({ task, name: prefix + tool, input })
  const options = {
    callId: callId.id,
    taskId: task,
    maxWaitMs,
    signal,
    graceSeconds: Infinity,
    workflow_name: harness,
  }
  try {
    const { name, contract } = await contractOf(gate.client, { harness, tool, prefix, signal })
    const bound = await boundTo(call, harness, contract)
    await gate.authorize(name, bound.payload, {
      ...options,
      onPending: ({ thread_id }) => {
        const before = callId.thread
        callId.hold(thread_id)
        // an equal call with other files can no longer run
        if (before !== undefined && before !== thread_id)
          void gate.client
            .withdraw(before, { reason: 'a file of the command changed' })
            .catch(() => undefined)
        if (bound.isUnbound) note(`files are not bound: the contract of ${name} has no \`files\``)
      },
      beforeProof: bound.checkFiles,
    })
    callId.end()
  } catch (error) {
    if (error instanceof NotExecuted && isUndecided(error)) {
      callId.leave()
      if (signal.reason instanceof HookEnded) await leaveWaiting(gate.client, callId.thread, GRACE_SECONDS)
    } else {
      callId.end()
      await withdrawLeft(gate.client, callId, error)
    }
    // a call that must not run after all is reported before the process ends
    await gate.settled()
    throw error
  }
}

interface Bound {
  readonly payload: JsonObject
  /** True for a command whose contract has no `files`. */
  readonly isUnbound: boolean
  /** Reads the files again. @throws NotExecuted when one differs */
  readonly checkFiles?: () => Promise<void>
}

/**
 * The payload of a call. A command of the harness's own shell gets the members `files` and `cwd` where its contract has
 * them. Tools of MCP servers get what their input has.
 *
 * @throws NotExecuted
 */
async function boundTo(
  { tool, input, cwd }: HeldCall,
  harness: HarnessName,
  contract: ResolvedTool | undefined,
): Promise<Bound> {
  const command = commandIn(input)
  const properties = contract?.input_schema['properties']
  const isShell = command !== undefined && contract?.source === undefined && !tool.startsWith('mcp_')
  const filled = ['files', 'cwd'].filter((name) => isShell && isObject(properties) && name in properties)
  const taken = filled.find((name) => name in input)
  if (taken !== undefined) throw refused(`the input has \`${taken}\`, which the hook fills in`)
  if (filled.length === 0) return { payload: input, isUnbound: isShell }
  const below = input[DIRECTORY[harness] ?? '']
  if (cwd === undefined) throw refused('the harness names no folder in which the command runs')
  const folder = typeof below === 'string' ? resolve(cwd, below) : cwd
  const place = filled.includes('cwd') ? { cwd: folder } : {}
  if (!filled.includes('files')) return { payload: { ...input, ...place }, isUnbound: true }
  const read = async (withinMs: number): Promise<NamedFile[]> => {
    try {
      return await filesOf(command ?? '', folder, withinMs)
    } catch (error) {
      throw refused((error as Error).message)
    }
  }
  const files = await read(READING_MS)
  const checkFiles = async (): Promise<void> => {
    const path = changedFile(files, await read(SECOND_READING_MS))
    if (path !== undefined) throw new InvalidPayload(`${path} changed since it was asked`)
  }
  return { payload: { ...input, ...place, files }, isUnbound: false, checkFiles }
}

/** Time in which the files of an approved call are read again, ms. */
const SECOND_READING_MS = 5_000

/** The command line, or its words. */
function commandIn({ command }: JsonObject): string | undefined {
  if (typeof command === 'string') return command
  if (!Array.isArray(command) || !command.every((one) => typeof one === 'string')) return undefined
  return command.map((one) => `'${one.replaceAll("'", `'\\''`)}'`).join(' ')
}

const refused = (why: string): NotExecuted => new InvalidPayload(why)
