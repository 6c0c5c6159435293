import type { ThreadSummary } from '../../contract/reviewer.ts'
import { ago, countdown, HOUR } from './elapsed.ts'
import { now } from './clock.ts'

/** A live display of the time left. Its title is the exact time. */
export function Countdown({ deadline }: { readonly deadline: string }) {
  const { text, urgency } = countdown(Date.parse(deadline), now.value)
  return (
    <time class={`left ${urgency}`} dateTime={deadline} title={exact(deadline)}>
      {text}
    </time>
  )
}

/** The time left within the next hour; later, the day and the time, which need no counting. */
export function Due({ deadline }: { readonly deadline: string }) {
  const { text, urgency } = countdown(Date.parse(deadline), now.value)
  const near = Date.parse(deadline) - now.value < HOUR
  return (
    <time class={`left ${urgency}`} dateTime={deadline} title={exact(deadline)}>
      {near ? text.replace(' left', '') : moment(deadline)}
    </time>
  )
}

export function Ago({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={exact(at)}>
      {ago(Date.parse(at), now.value)}
    </time>
  )
}

export const exact = (at: string): string => new Date(at).toLocaleString()

/** `Since Mon 14:05 policy asks for two of security-leads`. */
export const sinceText = ({ at, asks }: NonNullable<ThreadSummary['raised']>): string =>
  `Since ${moment(at)} policy asks for ${asks}`

export const moment = (at: string): string =>
  new Date(at).toLocaleString('en-GB', { weekday: 'short', hour: '2-digit', minute: '2-digit' })
