import { messageOf } from './attempt.ts'
import { frozenCopy } from './canonical.ts'
import { NotExecuted } from './outcome.ts'
import type { Json } from './types.ts'

/** @throws NotExecuted for what JSON cannot hold */
export function copied<T extends Json>(value: T, what: string): T {
  try {
    return frozenCopy(value)
  } catch (cause) {
    throw new NotExecuted('invalid_payload', `${what} is not JSON: ${messageOf(cause)}`, { cause })
  }
}
