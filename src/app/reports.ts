import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Deps } from '../gateway/core/deps.ts'
import { reportInstance, retireInstance } from '../gateway/jobs/instances.ts'
import { packageVersion } from '../system/package.ts'
import { startWriteProbe, type WriteProbe } from './write-probe.ts'

/** Time between two reports of an instance, ms. */
const EVERY_MS = 2_000

export interface Reports extends Pick<WriteProbe, 'noted' | 'refusal'> {
  /** Ends the reports, and tries to remove this instance from the list. */
  close(): Promise<void>
}

/** Reports this instance and its bundle to the others. Each report also proves that the store accepts writes. */
export function startReports(deps: Deps, everyMs = EVERY_MS): Reports {
  const instance = {
    id: randomBytes(9).toString('base64url'),
    host: hostname(),
    version: packageVersion(),
    startedAt: deps.store.now(),
  }
  let reported = false
  const write = async (): Promise<void> => {
    await reportInstance(deps, instance)
    reported = true
  }
  const probe = startWriteProbe({ write, everyMs, deadlineMs: deps.storeDeadlineMs })
  return {
    noted: (observation) => probe.noted(observation),
    refusal: () => probe.refusal(),
    async close() {
      await probe.close()
      if (reported) await retireInstance(deps, instance.id).catch(() => undefined)
    },
  }
}
