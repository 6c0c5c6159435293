import { isAbsolute, join } from 'node:path'
import { LIMITS } from '../../contract/limits.ts'
import { stateHome } from '../../settings/config.ts'
import { openUnfinished, type Unfinished } from '../../system/unfinished.ts'
import { usage } from '../terminal/failure.ts'
import { visible } from '../terminal/visible-text.ts'

/** Calls that wait from one process to the next: in `state`, or where the user's programs keep such things. @throws CliFailure */
export function keptCallsIn(state: string | undefined, name: 'hooks' | 'mcp'): Unfinished {
  // one below the working directory the agent could write to, and choose there which calls are the same
  if (state !== undefined && !isAbsolute(state)) throw usage(`--state is an absolute path, not \`${state}\``)
  return openUnfinished({
    directory: () => state ?? join(stateHome(), 'countersign', name),
    keptMs: LIMITS.IDEMPOTENCY_MS,
    now: Date.now,
    note: (text) => console.error(visible(`countersign: ${text}`)),
  })
}
