import { DamagedBackup, OtherFormat } from '../../backup/format.ts'
import { LostInRestore } from '../../backup/restore.ts'
import { UnsoundStore } from '../../backup/write.ts'
import { StoreMoved, WrongPlace } from '../../store/archive.ts'
import { CliFailure, EXIT, type ExitCode } from '../terminal/failure.ts'
import { redisAdvice } from './redis-advice.ts'

interface Advice {
  readonly fits: (error: Error) => boolean
  readonly exit: ExitCode
  readonly hint: string
}

const ADVICE: readonly Advice[] = [
  {
    fits: (error) => error instanceof DamagedBackup,
    exit: EXIT.doesNotCheck,
    hint: 'nothing was restored; take another copy of the backup, or an older one',
  },
  {
    fits: (error) => error instanceof OtherFormat,
    exit: EXIT.doesNotCheck,
    hint: 'nothing was restored',
  },
  {
    fits: (error) => error instanceof UnsoundStore,
    exit: EXIT.doesNotCheck,
    hint: 'no backup was written; `countersign store check` reports every problem',
  },
  {
    fits: (error) => error instanceof LostInRestore,
    exit: EXIT.doesNotCheck,
    hint: 'nothing was restored; check the disk or the server, and look for another program that writes to it',
  },
  {
    fits: (error) => error instanceof StoreMoved,
    exit: EXIT.unexpected,
    hint: 'try again when it is quieter, stop the gateways, or copy Redis as docs/store.md describes',
  },
  {
    fits: (error) => error.message.includes('in use by another process'),
    exit: EXIT.unexpected,
    hint: 'stop the gateway first',
  },
  {
    fits: (error) => error.message.includes('under way, or was broken off'),
    exit: EXIT.unexpected,
    hint: 'if no restore is running, begin again with `countersign store restore FILE --restart`',
  },
  {
    fits: (error) => /^(?:redis: )?NOPERM\b/.test(error.message),
    exit: EXIT.unexpected,
    hint: 'the user of a gateway may not read or fill a Redis as a whole: docs/store.md lists the further permissions',
  },
  {
    fits: (error) => error instanceof WrongPlace && error.message.includes('clock'),
    exit: EXIT.unexpected,
    hint: "set the server's clock right, then restore again",
  },
]

/**
 * Runs a command on the store, and turns its errors into a sentence and advice.
 *
 * @throws CliFailure
 */
export async function orExplain<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof CliFailure) throw error
    const cause = error as Error
    const advice = ADVICE.find(({ fits }) => fits(cause))
    throw new CliFailure(`cannot ${what}: ${cause.message.trim()}`, {
      cause,
      hint: advice?.hint ?? redisAdvice(cause.message),
      ...(advice === undefined ? {} : { exit: advice.exit }),
    })
  }
}
