import { isAbsolute, join } from 'node:path'
import { LIMITS } from '../../contract/limits.ts'
import { stateHome } from '../../settings/config.ts'
import { openUnfinished, type Unfinished } from '../../system/unfinished.ts'
import { usage } from '../terminal/failure.ts'
import { visible } from '../terminal/visible-text.ts'

/** The flag of `mcp` and `hook` for their wait. */
export const MAX_WAIT = {
  takes: 'DURATION',
  default: '50s',
  says: 'after this time without a decision, the model is asked to call again; the new call resumes the wait',
} as const

/**
 * Opens the calls that wait between processes, in `state` or in the user's directory for program state.
 *
 * @throws CliFailure
 */
export function keptCallsIn(state: string | undefined, name: 'hooks' | 'mcp'): Unfinished {
  // does not use the working directory, where the agent could write and so influence which calls are equal
  if (state !== undefined && !isAbsolute(state))
    throw usage(`--state must be an absolute path, not \`${state}\``)
  return openUnfinished({
    directory: () => state ?? join(stateHome(), 'countersign', name),
    keptMs: LIMITS.IDEMPOTENCY_MS,
    now: Date.now,
    note: (text) => console.error(visible(`countersign: ${text}`)),
  })
}
