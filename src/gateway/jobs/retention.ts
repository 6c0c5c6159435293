import type { RetentionKind } from '../../policy/language/retention.ts'
import type { Deps } from '../core/deps.ts'
import { forgetDisclosures } from './forget-disclosures.ts'
import { forgetTask } from './forget-tasks.ts'
import { forgetThreads } from './forget-threads.ts'
import { removePublished } from './remove-published.ts'

type Job = (deps: Deps, ...rest: never[]) => Promise<unknown>

/** The job that deletes what each kind of retention covers. */
export const FORGET = {
  threads: forgetThreads,
  disclosures: forgetDisclosures,
  log_in_store: removePublished,
  tasks: forgetTask,
} satisfies Readonly<Record<RetentionKind, Job>>
