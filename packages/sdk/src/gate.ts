import { authorized, createCore, ownOf, run } from './core.ts'
import type { Client } from './client.ts'
import { proposed } from './flow.ts'
import { type Handles, handlesOf } from './handles.ts'
import type { GateOptions, GuardOptions } from './options.ts'
import type { Decision, Payload, PayloadOf } from './types.ts'

/** The gate that an agent runtime places before every governed tool (docs/agent-api.md). */
export interface Gate extends Handles {
  /** The client of the same gateway, for all other requests. */
  readonly client: Client
  /** Serves a held call that has no hook of its own: the option of the gate, or a line on standard error. */
  readonly onPending: (decision: Decision) => unknown
  /**
   * Runs `execute` only when the gateway allowed the call, or reviewers approved it and its proof was redeemed. It is
   * `propose` and `resume`, and reports how the call ended, in the background.
   *
   * @param payload the arguments, by docs/javascript/values.md
   * @param execute receives the same object. Right before, its JSON is compared with the approved payload. The function
   * runs at most once.
   * @throws NotExecuted in all other cases: a subclass for each reason. Errors of `execute` pass through. A nested
   * NotExecuted becomes the cause of an Error, because the outer call ran.
   */
  guard: Guard
  /**
   * Gets permission for runtimes that execute elsewhere, such as the hook of a coding agent. Resolves with the approved
   * payload when the call may run once. At that time, the proof has been redeemed. Reports only a call that must not
   * run after all.
   *
   * @throws NotExecuted under the same conditions as guard
   */
  authorize(tool: string, payload: object, options?: GuardOptions<Payload>): Promise<Payload>
  /** Waits until the gateway has the outcomes of all calls that ended, or did not answer twice. Never fails. */
  settled(): Promise<void>
}

/**
 * Two ways to declare a payload: TypeScript accepts no `interface` for the first, and no generic type for the second.
 */
export interface Guard {
  <T, P extends Payload>(
    tool: string,
    payload: P,
    execute: (payload: P) => Promise<T> | T,
    options?: GuardOptions<P>,
  ): Promise<T>
  <T, P extends object>(
    tool: string,
    payload: P & PayloadOf<P>,
    execute: (payload: P) => Promise<T> | T,
    options?: GuardOptions<P>,
  ): Promise<T>
}

/** @throws TypeError for options with which no call could work */
export function createGate(options: GateOptions = {}): Gate {
  const core = createCore(options)
  const permit = async (tool: string, payload: object, options: GuardOptions<Payload>) => {
    const call = core.callOf(tool, options)
    const own = ownOf(call, payload)
    return { call, done: await authorized(core, call, options, (limited) => proposed(limited, own)) }
  }
  const guard = async <T>(
    tool: string,
    payload: object,
    execute: (payload: never) => Promise<T> | T,
    options: GuardOptions<Payload> = {},
  ): Promise<T> => {
    const { call, done } = await permit(tool, payload, options)
    return run(core, call, done, execute)
  }
  return {
    ...handlesOf(core),
    client: core.client,
    onPending: (decision) => core.onPending(decision, core.maxWaitMs),
    guard: guard as Guard,
    settled: () => core.outcomes.settled(),
    authorize: async (tool, payload, options = {}) =>
      (await permit(tool, payload, options)).done.action.payload,
  }
}
