import type { Decision } from './types.ts'

/** Says on standard error that a call waits, so that its program does not look stuck. */
export function heldNotice(url: string): (decision: Decision, waitMs?: number) => void {
  return ({ message = 'reviewers decide this call', thread_id = '' }, waitMs) => {
    const minutes = Math.round((waitMs ?? 0) / 60_000)
    const most = minutes < 2 ? `${Math.round((waitMs ?? 0) / 1_000)} s` : `${minutes} min`
    const wait = waitMs === undefined ? '' : `; waiting up to ${most}`
    const text = `held by policy: ${message} Decide at ${url}/console/#/thread/${thread_id}${wait}`
    // oxlint-disable-next-line no-console -- it is the only place that every runtime has
    console.error(text.replaceAll(/\p{Cc}|\p{Zl}|\p{Zp}/gu, ' '))
  }
}
