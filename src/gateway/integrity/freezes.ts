import type { Freezes } from '../../domain/freeze.ts'
import type { Thread } from '../../domain/thread.ts'
import type { Fault } from '../../store/archive.ts'
import { fault, type PartCheck } from './part.ts'

/**
 * Checks the epochs of freezes (G12). A thread of a later epoch than the tenant's would survive the next freeze.
 * `freezes` precede threads.
 */
export function checkFreezes(): PartCheck {
  let reached = 0
  return {
    record(type, id, value) {
      if (type === 'freezes') {
        const { epoch, freezes } = value as Freezes
        reached = epoch
        return freezes.filter((one) => one.epoch > epoch).map((one) => ahead('a freeze', one.epoch, epoch))
      }
      if (type !== 'thread') return []
      const { freeze_epoch = 0 } = value as Thread
      return freeze_epoch > reached ? [ahead(`thread \`${id}\``, freeze_epoch, reached)] : []
    },
  }
}

const ahead = (what: string, epoch: number, reached: number): Fault =>
  fault('G12', `${what} has epoch ${epoch}, but the tenant's freezes have only reached ${reached}`)
