import type { Deps } from '../core/deps.ts'
import { record } from '../core/event-record.ts'
import { SYSTEM } from '../core/records.ts'
import { transact } from '../core/transact.ts'

export interface PolicyLoad {
  readonly ok: boolean
  readonly revision?: string
  readonly commit?: string
  readonly files?: number
  readonly rules?: number
  /** First errors, as `file:line:col code`. */
  readonly errors?: readonly string[]
}

/** Records a policy load, successful or failed, as evidence in `_system`. */
export async function noteLoad(deps: Deps, load: PolicyLoad): Promise<void> {
  const { ok, ...details } = load
  await transact(deps, SYSTEM, () =>
    Promise.resolve({
      answer: undefined,
      evidence: [
        record(
          deps.store.now(),
          { kind: 'gateway', id: 'policies' },
          { tenant: SYSTEM },
          { type: ok ? 'policy.loaded' : 'policy.failed', details },
        ),
      ],
    }),
  )
}
